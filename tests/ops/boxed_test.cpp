// Calling operators by name with boxed values; schemas.
#include <gtest/gtest.h>

#include <gradus/ops/library.h>
#include <gradus/ops/ops.h>

#include "tests/ops/tensors.h"

namespace gradus::testing {
namespace {

using Floats = std::vector<float>;
using V = std::vector<IValue>;

GRADUS_LIBRARY(boxed_test, m) {
  m.def(
      "options(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
      "MemoryFormat? memory_format=None) -> int[]",
      [](const TensorOptions& o, std::optional<MemoryFormat> f) -> std::vector<int64_t> {
        return {static_cast<int64_t>(o.dtype_opt().value_or(ScalarType::Undefined)), o.device_opt() ? 1 : 0,
                static_cast<int64_t>(f.value_or(MemoryFormat::Preserve))};
      });
  m.def("lists(int[2] a=[1,2], float[]? b=None, bool[3] c=False, Tensor?[] d=[], Scalar[] e=[], str f='x') -> str",
        [](IntArrayRef a, std::optional<ArrayRef<double>> b, const std::array<bool, 3>&,
           ArrayRef<std::optional<Tensor>> d, ArrayRef<Scalar> e,
           std::string_view f) { return str(a, b.has_value(), d.size(), e.size(), f); });
  m.def("pair(Tensor x, Tensor? y=None) -> (Tensor first, bool second)",
        [](const Tensor& x, const std::optional<Tensor>& y) { return std::make_tuple(x, y.has_value()); });
  m.def("numbers(Scalar s, float f, int? i=None) -> Scalar",
        [](const Scalar& s, double f, std::optional<int64_t> i) -> Scalar {
          return Scalar(s.toDouble() + f + static_cast<double>(i.value_or(0)));
        });
}

TEST(Boxed, FillsDefaults) {
  const Tensor a = floats({1, 2}), b = floats({10, 20});
  EXPECT_EQ(values(call("aten::add.Tensor", {a, b})[0].toTensor()), (Floats{11, 22}));
  EXPECT_EQ(values(call("add.Tensor", {a, b, 2})[0].toTensor()), (Floats{21, 42})) << "aten:: may be left out";
  EXPECT_EQ(values(call("add.Tensor", {a}, {{"alpha", 0.5}, {"other", b}})[0].toTensor()), (Floats{6, 12}));
}

TEST(Boxed, InPlaceAndOutFormsReturnWhatTheyWrote) {
  const Tensor a = floats({1, 2}), b = floats({10, 20}), out = floats({0, 0});
  const V in_place = call("add_.Tensor", {a, b});
  ASSERT_EQ(in_place.size(), 1u);
  EXPECT_TRUE(in_place[0].toTensor().is_same(a));
  EXPECT_EQ(values(a), (Floats{11, 22}));
  const V written = call("add.out", {a, b, 1, out});
  ASSERT_EQ(written.size(), 1u);
  EXPECT_TRUE(written[0].toTensor().is_same(out));
  EXPECT_EQ(values(out), (Floats{21, 42}));
}

TEST(Boxed, SeveralResultsAndOptionalTensors) {
  const Tensor a = floats({1});
  V r = call("boxed_test::pair", {a});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_TRUE(r[0].toTensor().is_same(a));
  EXPECT_FALSE(r[1].toBool());
  EXPECT_TRUE(call("boxed_test::pair", {a, a})[1].toBool());
  EXPECT_FALSE(call("boxed_test::pair", {a, IValue()})[1].toBool());
}

TEST(Boxed, NumbersConvert) {
  EXPECT_EQ(call("boxed_test::numbers", {1, 2})[0].toScalar().toDouble(), 3);
  EXPECT_EQ(call("boxed_test::numbers", {0.5, 2.5, 4})[0].toDouble(), 7);
  EXPECT_EQ(call("boxed_test::numbers", {true, 0})[0].toDouble(), 1);
}

TEST(Boxed, OptionsAreFourValues) {
  EXPECT_EQ(call("boxed_test::options", {})[0].toIntVector(),
            (std::vector<int64_t>{static_cast<int64_t>(ScalarType::Undefined), 0, 1}));
  EXPECT_EQ(call("boxed_test::options", {kLong, IValue(), "cpu"}, {{"memory_format", MemoryFormat::ChannelsLast}})[0]
                .toIntVector(),
            (std::vector<int64_t>{4, 1, 2}));
  // A memory format inside the options goes where the schema has it.
  auto typed = get_operator("boxed_test::options")
                   .typed<std::vector<int64_t>(const TensorOptions&, std::optional<MemoryFormat>)>();
  EXPECT_EQ(typed(TensorOptions(kInt).memory_format(MemoryFormat::ChannelsLast), std::nullopt),
            (std::vector<int64_t>{3, 0, 2}));
}

TEST(Boxed, ListsConvert) {
  EXPECT_EQ(call("boxed_test::lists", {})[0].toStringRef(), "(1, 2)false00x");
  EXPECT_EQ(call("boxed_test::lists", {7})[0].toStringRef(), "(7, 7)false00x") << "int[2] takes one int for both";
  EXPECT_EQ(call("boxed_test::lists", {std::vector<int64_t>{3}, std::vector<int64_t>{1, 2}})[0].toStringRef(),
            "(3)true00x");
  EXPECT_EQ(call("boxed_test::lists", {},
                 {{"d", std::vector<Tensor>{floats({1}), Tensor()}}, {"e", std::vector<double>{1}}})[0]
                .toStringRef(),
            "(1, 2)false21x");
}

TEST(Boxed, MistakesNameTheOperatorAndTheArgument) {
  const Tensor a = floats({1});
  const std::string schema = "; expected add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
  EXPECT_EQ(thrown<TypeError>([&] { call("add.Tensor", {a}); }), "add.Tensor: argument 'other' is missing" + schema);
  EXPECT_EQ(thrown<TypeError>([&] {
              call("add.Tensor", {a, a, 1, 1});
            }),
            "add.Tensor: got 4 arguments, there are 3" + schema);
  EXPECT_EQ(thrown<TypeError>([&] {
              call("add.Tensor", {a, "x"});
            }),
            "add.Tensor: argument 'other' is str instead of Tensor" + schema);
  EXPECT_EQ(thrown<TypeError>([&] {
              call("add.Tensor", {a, IValue()});
            }),
            "add.Tensor: argument 'other' is None instead of Tensor" + schema);
  EXPECT_EQ(thrown<TypeError>([&] {
              call("add.Tensor", {a, a}, {{"beta", 1}});
            }),
            "add.Tensor: there is no argument 'beta'" + schema);
  EXPECT_EQ(thrown<TypeError>([&] {
              call("add.Tensor", {a, a}, {{"self", a}});
            }),
            "add.Tensor: argument 'self' is given twice" + schema);
  EXPECT_EQ(thrown<NotImplementedError>([&] { call("nothing.at_all", {}); }),
            "nothing.at_all: there is no operator of this name");
  EXPECT_EQ(thrown<NotImplementedError>([&] { call("aten::add", {}); }),
            "aten::add: there is no such overload; there are aten::add.Scalar, aten::add.Tensor, aten::add.out");
  Stack short_stack{a};
  EXPECT_EQ(thrown<TypeError>([&] { get_operator("add.Tensor").call(short_stack); }),
            "add.Tensor: the stack holds 1 values for 3 arguments" + schema);
}

TEST(Boxed, TypedHandles) {
  const Tensor a = floats({1, 2}), b = floats({10, 20});
  const OperatorHandle op = get_operator("add.Tensor");
  const auto add = op.typed<Tensor(const Tensor&, const Tensor&, const Scalar&)>();
  EXPECT_EQ(values(add(a, b, 2)), (Floats{21, 42}));
  EXPECT_EQ(thrown<TypeError>([&] { (void)op.typed<Tensor(const Tensor&, double)>(); }),
            "aten::add.Tensor: the C++ signature (Tensor, float) -> (Tensor) is not that of the schema "
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  const auto in_place = get_operator("add_.Tensor").typed<void(const Tensor&, const Tensor&, const Scalar&)>();
  in_place(a, b, 1);
  EXPECT_EQ(values(a), (Floats{11, 22}));
}

TEST(Boxed, IValueRefusesAnotherKind) {
  EXPECT_EQ(thrown<TypeError>([] { IValue(1).toTensor(); }), "expected a value of type Tensor, got int");
  EXPECT_EQ(thrown<TypeError>([] { IValue("x").toScalar(); }), "expected a number, got str");
  EXPECT_TRUE(IValue(std::optional<int64_t>()).isNone());
  EXPECT_TRUE(IValue(Scalar(2.5)).isDouble());
  EXPECT_TRUE(IValue(Scalar(true)).isBool());
  EXPECT_EQ(IValue(std::vector<int64_t>{1, 2}).str(), "[1, 2]");
}

// --- schemas ---

TEST(Schema, TakesATextApart) {
  const FunctionSchema s = parse_schema(
      "ns::f.over(Tensor(a!) self, int[2] k=3, *, float? p=1e-05, str m='none', Tensor?[] x) -> (Tensor(a!) y, bool)");
  EXPECT_EQ(s.full_name(), "ns::f.over");
  ASSERT_EQ(s.arguments.size(), 5u);
  EXPECT_TRUE(s.arguments[0].written);
  EXPECT_EQ(s.arguments[1].type.size, 2);
  EXPECT_EQ(s.arguments[1].default_value.toIntVector(), (std::vector<int64_t>{3, 3}));
  EXPECT_FALSE(s.arguments[1].kwarg_only);
  EXPECT_TRUE(s.arguments[2].kwarg_only);
  EXPECT_TRUE(s.arguments[2].type.is_optional);
  EXPECT_EQ(s.arguments[2].default_value.toDouble(), 1e-05);
  EXPECT_EQ(s.arguments[3].default_value.toStringRef(), "none");
  EXPECT_TRUE(s.arguments[4].type.optional_element);
  EXPECT_FALSE(s.arguments[4].has_default);
  EXPECT_EQ(s.returns[0].name, "y");
  EXPECT_EQ(s.returns[1].type.base, SchemaType::Base::Bool);
  EXPECT_EQ(s.find("p"), 2);
  EXPECT_EQ(s.find("q"), -1);
}

TEST(Schema, MistakesSayWhere) {
  EXPECT_EQ(thrown<Error>([] { parse_schema("f(Tensr x) -> Tensor"); }),
            "schema 'f(Tensr x) -> Tensor': at character 7: expected a type (Tensor, Scalar, int, float, bool, str, "
            "ScalarType, Layout, Device, MemoryFormat, Generator)");
  EXPECT_EQ(thrown<Error>([] { parse_schema("f(Tensor x) Tensor"); }),
            "schema 'f(Tensor x) Tensor': at character 12: expected '->'");
  EXPECT_EQ(thrown<Error>([] { parse_schema("f(int x=one) -> Tensor"); }),
            "schema 'f(int x=one) -> Tensor': at character 11: expected a number instead of 'one'");
  for (const char* text :
       {"", "f", "f(", "f(Tensor", "f(Tensor x", "f(Tensor x)", "f(Tensor x) -> ", "f(int[ x) -> Tensor",
        "f(int x=) -> Tensor", "f(str x='a) -> Tensor", "f(Tensor(a x) -> Tensor", "f(int[] x=[1) -> Tensor",
        "f(int x, int x) -> Tensor", "f(bool x=3) -> Tensor", "f.(int x) -> Tensor", "f(int x) -> Tensor y z"}) {
    EXPECT_THROW(parse_schema(text), Error) << text;
  }
}

TEST(Schema, EveryOperatorsIsRead) {
  EXPECT_GT(all_operators().size(), 300u);
  for (const OperatorHandle& op : all_operators()) {
    const FunctionSchema& s = op.schema();
    EXPECT_EQ(s.name, op.name());
    EXPECT_EQ(s.overload, op.overload());
    EXPECT_FALSE(s.returns.empty()) << op.full_name();
    if (op.is_inplace()) {
      EXPECT_TRUE(s.arguments[0].written) << op.full_name();
    }
    if (op.is_out()) {
      EXPECT_TRUE(s.arguments.back().written) << op.full_name();
    }
    EXPECT_TRUE(find_operator(op.full_name()).has_value());
  }
}

}  // namespace
}  // namespace gradus::testing
