"""Every check of structure.py reports its fault, and says nothing of a tree without one."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import structure  # noqa: E402

SOUND = {
    "CMakeLists.txt": "target_include_directories(a PUBLIC include)\ntarget_compile_options(a PRIVATE -Wall)\n"
    "target_sources(a PRIVATE kernels/cpu/sum.cpp src/backends/onednn/matmul.cpp src/core/parallel.cpp src/ops/sum.cpp)\n",
    "include/gradus/gradus.h": "#include <gradus/nn/nn.h>\n",
    "include/gradus/core/tensor.h": "#include <vector>\n#define GRADUS_API\n",
    "include/gradus/core/scalar.h": "#include <cstdint>\n",
    "include/gradus/nn/nn.h": "#include <gradus/core/tensor.h>\n",
    "include/compat/torch/torch.h": "#include <torch/names.h>\n#define torch gradus\n",
    "include/compat/torch/names.h": "#include <gradus/gradus.h>\n",
    "kernels/view.h": "#include <gradus/core/scalar.h>\n",
    "kernels/cpu/sum.cpp": "// not #pragma omp, _mm_add_ps()\n#include <hwy/highway.h>\n#include <kernels/view.h>\n",
    "src/backends/onednn/matmul.cpp": "#include <dnnl.hpp>\n",
    "src/core/parallel.cpp": "#include <omp.h>\n#pragma omp parallel\n",
    "src/ops/sum.cpp": '#include "plan.h"\n#include <kernels/view.h>\n',
    "src/ops/plan.h": "#include <gradus/core/tensor.h>\n",
}


def faults(check, changes, **options):
    return "\n".join(check({**SOUND, **changes}, **options))


class StructureTest(unittest.TestCase):
    def expect(self, check, changes, *parts, **options):
        text = faults(check, changes, **options)
        for part in parts:
            self.assertIn(part, text)

    def test_a_sound_tree_has_no_fault(self):
        for check in structure.CHECKS:
            options = {"arrows_back": {}} if check is structure.layers else {}
            self.assertEqual(faults(check, {}, **options), "", check.__name__)

    def test_layers(self):
        def expect(changes, *parts):
            self.expect(structure.layers, changes, *parts, arrows_back={})

        expect({"src/core/a.cpp": "\n#include <gradus/nn/nn.h>\n"}, "src/core/a.cpp:2: core may not include nn")
        expect({"src/nn/a.cpp": '#include "../optim/b.h"\n', "src/optim/b.h": ""}, "a.cpp:1: nn may not include optim")
        expect({"src/nn/a.cpp": "#include <kernels/view.h>\n"}, "nn may not include kernels")
        expect(
            {
                "src/ops/a.cpp": '#include "backends/blas/b.h"\n#include "kernels/cpu/b.h"\n',
                "src/backends/blas/b.h": "",
                "kernels/cpu/b.h": "",
            },
            "src/ops/a.cpp:1: ops may not include backends",
            "src/ops/a.cpp:2: ops may not include kernels/cpu",
        )
        expect({"include/gradus/core/a.h": "#include <gradus/gradus.h>\n"}, "core may not include umbrella")
        expect({"src/novel/a.cpp": ""}, "novel is no layer")
        expect({"include/gradus/novel.h": ""}, "novel is no layer")

    def test_layers_know_their_exceptions(self):
        back = ("src/core/a.cpp", "kernels/view.h")
        there, gone = {back[0]: "#include <kernels/view.h>\n"}, {back[0]: ""}
        self.assertEqual(faults(structure.layers, there, arrows_back={back: "why"}), "")
        self.expect(structure.layers, there, "core may not include kernels", arrows_back={})
        self.expect(structure.layers, gone, "a.cpp:1: its include of kernels/view.h", arrows_back={back: "why"})

    def test_cycles(self):
        ring = {
            "src/ops/a.h": '#include "b.h"\n',
            "src/ops/b.h": '#include "c.h"\n#include "plan.h"\n',
            "src/ops/c.h": "#include <vector>\n#include <ops/a.h>\n",
        }
        self.expect(structure.cycles, ring, "a circle: src/ops/a.h -> src/ops/b.h -> src/ops/c.h -> src/ops/a.h")
        self.expect(structure.cycles, {"src/ops/a.h": '#include "a.h"\n'}, "src/ops/a.h -> src/ops/a.h")
        diamond = {"src/ops/a.h": '#include "b.h"\n#include "plan.h"\n', "src/ops/b.h": '#include "plan.h"\n'}
        self.assertEqual(faults(structure.cycles, diamond), "")

    def test_kernels_without_tensors(self):
        detour = {"include/gradus/core/scalar.h": '#include "tensor.h"\n'}
        fault = "kernels/cpu/sum.cpp:1: a kernel that gets to see include/gradus/core/tensor.h"
        self.expect(structure.kernels_without_tensors, detour, fault)

    def test_public_macros(self):
        for line in ("#define CHECK(x)", "  #  define LOG 1", "#define GRADUS", "#define GRADUSLY 1"):
            self.expect(structure.public_macros, {"include/gradus/nn/a.h": f"\n{line}\n"}, "nn/a.h:2: macro")

    def test_public_includes(self):
        for name in ("fmt/core.h", "span", "omp.h", "torch/torch.h", "kernels/view.h", "gradus/nn/absent.h"):
            header = {"include/gradus/nn/a.h": f"#include <{name}>\n"}
            self.expect(structure.public_includes, header, f"a.h:1: a public header includes {name}")
        compat = {"include/compat/torch/a.h": "#include <torch/absent.h>\n#include <ops/plan.h>\n"}
        self.expect(structure.public_includes, compat, "a.h:1:", "a.h:2:")

    def test_owners(self):
        for path, name in (
            ("src/ops/a.cpp", "dnnl.hpp"),
            ("src/backends/blas/a.cpp", "oneapi/dnnl.hpp"),
            ("src/nn/a.cpp", "cblas.h"),
            ("src/nn/a.cpp", "omp.h"),
            ("src/ops/a.cpp", "hwy/highway.h"),
            ("src/core/a.cpp", "cuda_runtime.h"),
        ):
            self.expect(structure.owners, {path: f"#include <{name}>\n"}, f"{path}:1: {name} belongs to")

    def test_threads(self):
        for line in ("#pragma omp for", "# pragma  omp simd", '_Pragma("omp simd")', "int n = omp_get_max_threads();"):
            self.expect(structure.threads, {"kernels/cpu/a.cpp": f"\n{line}\n"}, "kernels/cpu/a.cpp:2:")

    def test_intrinsics(self):
        for line in ("_mm_add_ps(a, b);", "__m256 a;", "__m512d a;", "__builtin_ia32_rdtsc();", "vld1q_f32(p);"):
            self.expect(structure.intrinsics, {"src/ops/a.cpp": f"\n\n{line}\n"}, "src/ops/a.cpp:3: intrinsic")

    def test_sizes(self):
        long, longest = "\n" * (structure.LINES + 1), "\n" * structure.LINES
        self.expect(structure.sizes, {"src/ops/a.cpp": long}, f"src/ops/a.cpp:{structure.LINES}:")
        self.expect(structure.sizes, {"tests/a.py": long}, "tests/a.py")
        self.assertEqual(faults(structure.sizes, {"src/ops/a.cpp": longest, "src/ops/generated/a.cpp": long}), "")

    def test_leftovers(self):
        for word in ("TODO", "FIXME", "XXX", "HACK"):
            self.expect(structure.leftovers, {"src/ops/a.cpp": f"// {word}: later\n"}, f"src/ops/a.cpp:1: {word}")
        self.assertEqual(faults(structure.leftovers, {"tests/a.sh": "mktemp /tmp/fileXXXXXX\n"}), "")

    def test_cmake_globals(self):
        for line in (
            "add_compile_options(-O3)",
            "  include_directories(include)",
            "LINK_LIBRARIES(m)",
            "set(CMAKE_CXX_FLAGS -O3)",
            "set(CMAKE_CXX_STANDARD 20)",
            "set(CMAKE_CUDA_ARCHITECTURES 80)",
            "file(GLOB sources *.cpp)",
            "file(GLOB_RECURSE sources *.cpp)",
        ):
            self.expect(structure.cmake_globals, {"src/CMakeLists.txt": f"\n{line}\n"}, "src/CMakeLists.txt:2:")
            self.expect(structure.cmake_globals, {"cmake/a.cmake": line}, "cmake/a.cmake:1:")

    def test_unbuilt(self):
        source = {"tests/ops/a_test.cpp": "", "tests/ops/kernels/b_test.cpp": ""}
        self.expect(structure.unbuilt, {**source, "tests/ops/CMakeLists.txt": "a_test.cpp"}, "tests/ops/kernels/b_test.cpp:1:")
        self.expect(structure.unbuilt, {**source, "tests/CMakeLists.txt": "ops/kernels/b_test.cpp"}, "tests/ops/a_test.cpp:1:")
        # A namesake elsewhere is another file.
        other = {"tests/nn/CMakeLists.txt": "kernels/b_test.cpp", "tests/ops/CMakeLists.txt": "a_test.cpp"}
        self.expect(structure.unbuilt, {**source, **other}, "tests/ops/kernels/b_test.cpp:1:")
        for good in ("a_test.cpp kernels/b_test.cpp", "each(a_test) kernels/b_test.cpp"):
            self.assertEqual(faults(structure.unbuilt, {**source, "tests/ops/CMakeLists.txt": good}), "")
        by_root = {"src/a.cpp": "", "src/sources.cmake": "set(s src/a.cpp)"}
        self.assertEqual(faults(structure.unbuilt, by_root), "")

    def test_every_check_has_its_test(self):
        for check in structure.CHECKS:
            self.assertTrue(hasattr(self, f"test_{check.__name__}"), check.__name__)

    def test_the_program_fails_with_the_fault_and_refuses_another_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src/ops").mkdir(parents=True)

            def run():
                out, sys.argv = io.StringIO(), ["structure.py", folder]
                with contextlib.redirect_stdout(out), self.assertRaises(SystemExit) as end:
                    structure.main()
                return out.getvalue(), end.exception.code

            self.assertIn("not Gradus's root", str(run()[1]))
            for i in range(100):
                (root / f"src/ops/a{i}.cpp").write_text("")
            (root / "src/ops/a7.cpp").write_text("__m128 a;\n")
            text, code = run()
            self.assertEqual(code, 1)
            self.assertIn("src/ops/a7.cpp:1: intrinsic __m128", text)


if __name__ == "__main__":
    unittest.main()
