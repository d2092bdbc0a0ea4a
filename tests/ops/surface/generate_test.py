"""Tests of the surface's generator: what it writes, what it refuses and where it says the mistake is."""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src/ops/surface"))

import cpp  # noqa: E402
import generate  # noqa: E402
import schema  # noqa: E402

ADD = """\
    # Sums.

    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      forms: function method
      inplace: add_.Tensor method
      out: add.out
      flags: pointwise
      doc: Adds.
        Twice.
"""


class GeneratorTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def write(self, text, name="sums.ops"):
        (self.path / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def files(self, text):
        self.write(text)
        return generate.generate(self.path)[1]

    def mistake(self, text):
        """The message for a mistaken index, without the folder."""
        with self.assertRaises(schema.IndexError_) as caught:
            self.files(text)
        return str(caught.exception).replace(str(self.path) + "/", "")

    # --- the committed files ---

    def test_committed_files_are_what_the_generator_writes(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = generate.main(["--check"])
        self.assertEqual(code, 0, errors.getvalue())

    def test_check_names_what_differs_and_writing_repairs_it(self):
        self.write(ADD)
        root = self.path / "tree"
        arguments = ["--schemas", str(self.path), "--root", str(root)]
        self.assertEqual(generate.main(arguments), 0)
        self.assertEqual(generate.main(arguments + ["--check"]), 0)
        header = root / "include/gradus/ops/sums.h"
        header.write_text(header.read_text() + "// by hand\n")
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual(generate.main(arguments + ["--check"]), 1)
        self.assertIn("include/gradus/ops/sums.h: not what generate.py writes", errors.getvalue())
        self.assertEqual(generate.main(arguments), 0)
        self.assertEqual(generate.main(arguments + ["--check"]), 0)

    def test_files_of_a_family_that_went_are_removed(self):
        self.write(ADD)
        root = self.path / "tree"
        self.assertEqual(generate.main(["--schemas", str(self.path), "--root", str(root)]), 0)
        (self.path / "sums.ops").rename(self.path / "more.ops")
        self.assertEqual(generate.main(["--schemas", str(self.path), "--root", str(root)]), 0)
        self.assertFalse((root / "src/ops/surface/generated/sums.cpp").exists())
        self.assertTrue((root / "src/ops/surface/generated/more.cpp").exists())
        self.assertFalse((root / "include/gradus/ops/sums.h").exists())

    # --- what it writes ---

    def test_forms(self):
        files = self.files(ADD)
        header = files["include/gradus/ops/sums.h"]
        self.assertIn("// Sums.\n", header)
        self.assertIn("/// Adds.\n/// Twice.\n"
                      "GRADUS_API Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);\n"
                      "GRADUS_API Tensor& add_out(Tensor& out, const Tensor& self, const Tensor& other, "
                      "const Scalar& alpha = 1);\n"
                      "GRADUS_API Tensor& add_outf(const Tensor& self, const Tensor& other, const Scalar& alpha, "
                      "Tensor& out);\n", header)
        methods = files["include/gradus/ops/tensor_methods.h"]
        self.assertIn("  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;\n"
                      "  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;\n", methods)
        ops = files["src/ops/surface/generated/ops_sums.h"]
        self.assertIn("Tensor add(const Dest& dest, const Tensor& self, const Tensor& other, const Scalar& alpha);", ops)
        source = files["src/ops/surface/generated/sums.cpp"]
        self.assertIn('"add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"', source)
        self.assertIn('"add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"', source)
        self.assertIn("ops::add(ops::Dest::out(out), self, other, alpha);", source)
        self.assertIn("Operator::kInplace | Operator::kPointwise", source)

    def test_several_outs(self):
        files = self.files("""\
            max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
              forms: method
              out: max.dim_max(max, max_values)
              doc: The largest.
            """)
        self.assertIn("std::tuple<Tensor&, Tensor&> max_out(Tensor& max, Tensor& max_values, const Tensor& self, "
                      "int64_t dim,", files["include/gradus/ops/sums.h"])
        self.assertIn("ops::max(ops::Dest::out(max, max_values), self, dim, keepdim);",
                      files["src/ops/surface/generated/sums.cpp"])

    def test_factories_take_options(self):
        files = self.files("""\
            randint(int high, int[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
              forms: function
              out: randint.out
              doc: Numbers.
            """)
        self.assertIn("randint(int64_t high, IntArrayRef size, const TensorOptions& options = kLong);",
                      files["include/gradus/ops/sums.h"])
        self.assertIn("ops::randint(ops::Dest::out(out), high, size, out.options());",
                      files["src/ops/surface/generated/sums.cpp"])

    def test_pure_inplace_and_optional_tensors(self):
        files = self.files("""\
            put_(Tensor(a!) self, Tensor? mask=None, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)
              forms: method
              doc: Fills.
            """)
        self.assertIn("void put_(const Tensor& self, const Tensor& mask, double from, double to, "
                      "const std::optional<Generator>& generator);", files["src/ops/surface/generated/ops_sums.h"])
        self.assertIn("ops::put_(self, or_undefined(mask), from, to, generator);",
                      files["src/ops/surface/generated/sums.cpp"])
        self.assertIn("Operator::kInplace | Operator::kRandom", files["src/ops/surface/generated/sums.cpp"])

    def test_defaults(self):
        def spelled(argument):
            return cpp.default_value(schema.parse_argument(argument, False))

        self.assertEqual(spelled("int[2] stride=[]"), "{}")
        self.assertEqual(spelled("int[2] stride=1"), "1")
        self.assertEqual(spelled("int[1] dim=[-2,-1]"), "{-2, -1}")
        self.assertEqual(spelled("float eps=1e-05"), "1e-05")
        self.assertEqual(spelled("int reduction=Mean"), "Reduction::Mean")
        self.assertEqual(spelled("Tensor? weight=None"), "{}")
        self.assertEqual(spelled("Scalar? max=None"), "std::nullopt")
        self.assertEqual(spelled("str approximate='none'"), '"none"')
        self.assertEqual(spelled("MemoryFormat memory_format=contiguous_format"), "MemoryFormat::Contiguous")
        self.assertEqual(spelled("bool keepdim=False"), "false")

    def test_a_default_before_an_argument_without_one_is_dropped(self):
        files = self.files("""\
            norm.x(Tensor self, int p=2, *, ScalarType dtype) -> Tensor
              forms: function
              doc: Norm.
            """)
        self.assertIn("norm(const Tensor& self, int64_t p, ScalarType dtype);", files["include/gradus/ops/sums.h"])

    def test_no_default(self):
        files = self.files("""\
            std(Tensor self, bool unbiased=True) -> Tensor
              forms: function
              no_default: unbiased
              doc: Deviation.
            """)
        self.assertIn("std(const Tensor& self, bool unbiased);", files["include/gradus/ops/sums.h"])

    def test_lines_are_at_most_120_columns(self):
        _, files = generate.generate(ROOT / "src/ops/schema")
        for name, text in files.items():
            if not name.endswith((".h", ".cpp")):
                continue
            for number, line in enumerate(text.split("\n"), 1):
                schema_text = line.lstrip().startswith(('"', "//"))
                self.assertTrue(len(line) <= 120 or schema_text, f"{name}:{number}: {len(line)} columns")

    def test_schemas_survive_reading_and_writing(self):
        for text in ("split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]",
                     "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
                     "aminmax.out(Tensor self, *, int? dim=None, Tensor(a!) min, Tensor(b!) max) -> (Tensor(a!) min, Tensor(b!) max)",
                     "pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor"):
            self.assertEqual(str(schema.parse_schema(text)), text)

    def test_the_walkthrough_quotes_the_tree(self):
        page = (ROOT / "docs/adding-an-operator.md").read_text(encoding="utf-8")
        quotes = re.findall(r"^```\w+ (\S+)\n(.*?)^```", page, re.M | re.S)
        self.assertGreaterEqual(len(quotes), 4)
        for file, text in quotes:
            quoted = " ".join(text.split())
            self.assertIn(quoted, " ".join((ROOT / file).read_text(encoding="utf-8").split()), file)

    # --- mistakes, with file and line ---

    def test_no_schema(self):
        self.assertIn("sums.ops:1: no schema", self.mistake("add Tensor\n"))

    def test_unknown_type(self):
        self.assertIn("sums.ops:1: unknown type 'Tensr'", self.mistake("add(Tensr self) -> Tensor\n"))

    def test_argument_twice(self):
        self.assertIn("sums.ops:1: argument 'a' stands there twice", self.mistake("add(Tensor a, Tensor a) -> Tensor\n"))

    def test_unknown_field(self):
        self.assertIn("sums.ops:2: 'form: function' is no field", self.mistake("f(Tensor a) -> Tensor\n  form: function\n"))

    def test_field_twice(self):
        self.assertIn("sums.ops:3: field 'doc' stands there twice", self.mistake("f(Tensor a) -> Tensor\n  doc: A\n  doc: B\n"))

    def test_field_before_a_schema(self):
        self.assertIn("sums.ops:2: an indented line before the first schema", self.mistake("# a\n  forms: function\n"))

    def test_missing_forms_and_doc(self):
        self.assertIn("sums.ops:1: f has no 'forms:' line", self.mistake("f(Tensor a) -> Tensor\n  doc: A\n"))
        self.assertIn("sums.ops:1: f has no 'doc:' line", self.mistake("f(Tensor a) -> Tensor\n  forms: function\n"))

    def test_wrong_form(self):
        self.assertIn("sums.ops:2: forms are 'function'", self.mistake("f(Tensor a) -> Tensor\n  forms: funktion\n  doc: A\n"))

    def test_method_without_self(self):
        self.assertIn("f is a method but has no argument 'self'",
                      self.mistake("f(Tensor a) -> Tensor\n  forms: method\n  doc: A\n"))

    def test_unknown_flag(self):
        self.assertIn("sums.ops:2: unknown flag 'fast'", self.mistake("f(Tensor a) -> Tensor\n  flags: fast\n  doc: A\n"))

    def test_inplace_name_and_first_argument(self):
        self.assertIn("sums.ops:2: the in-place operator's name 'f'",
                      self.mistake("f(Tensor a) -> Tensor\n  inplace: f method\n  doc: A\n"))
        self.assertIn("sums.ops:2: an in-place form needs a Tensor as first argument",
                      self.mistake("f(int a) -> Tensor\n  inplace: f_ method\n  doc: A\n"))

    def test_number_of_outs(self):
        self.assertIn("sums.ops:2: 1 out arguments for 2 results",
                      self.mistake("f(Tensor a) -> (Tensor, Tensor)\n  out: f.out\n  doc: A\n"))

    def test_no_default_of_a_stranger(self):
        self.assertIn("sums.ops:2: no_default names 'b'", self.mistake("f(Tensor a) -> Tensor\n  no_default: b\n  doc: A\n"))

    def test_bad_default(self):
        self.assertIn("sums.ops:1: ", self.mistake("f(Tensor a, int b=two) -> Tensor\n  forms: function\n  doc: A\n"))

    def test_the_same_operator_twice(self):
        text = "f(Tensor a) -> Tensor\n  forms: function\n  doc: A\n"
        self.assertIn("sums.ops:5: f stands already at sums.ops:1", self.mistake(text + "\n" + text))

    def test_aten_comparison(self):
        self.write("f.x(Tensor self, int b=1) -> Tensor\n  forms: function\n  doc: A\n")
        families, _ = generate.generate(self.path)
        facts = self.path / "facts.txt"
        facts.write_text("# facts\nf.x(Tensor self, int b=1) -> Tensor | function | - | -\n")
        schema.check_against(families, facts)
        facts.write_text("f.x(Tensor self, int b=2) -> Tensor | function | - | -\n")
        with self.assertRaisesRegex(schema.IndexError_, r"(?s)sums\.ops:1: .*differs from ATen's"):
            schema.check_against(families, facts)
        facts.write_text("g(Tensor self) -> Tensor\n")
        with self.assertRaisesRegex(schema.IndexError_, r"sums\.ops:1: ATen has no operator f\.x"):
            schema.check_against(families, facts)

    def test_aten_comparison_lists_what_it_cannot_compare(self):
        self.write("_f.x(Tensor self) -> Tensor\n  forms: function\n  doc: A\n")
        families, _ = generate.generate(self.path)
        facts = self.path / "facts.txt"
        facts.write_text("g(Tensor self) -> Tensor\n")
        self.assertRegex("".join(schema.check_against(families, facts)), r"sums\.ops:1: _f\.x")
        facts.write_text("_f.x(Tensor other) -> Tensor\n")
        with self.assertRaisesRegex(schema.IndexError_, "differs from ATen's"):
            schema.check_against(families, facts)


if __name__ == "__main__":
    unittest.main()
