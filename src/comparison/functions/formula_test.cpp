#include "comparison/functions/formula.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/text/yaml.h"
#include "comparison/functions/attribute_value.h"
#include "ir/text/text_form.h"
#include "ops/ops.h"
#include "testing/error_of.h"
#include "transform/transform.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

HostTensor vector(std::initializer_list<float> values) {
  return HostTensor({std::ssize(values)}, values);
}

std::vector<HostTensor> run(const std::string& yaml, const std::vector<HostTensor>& arguments,
                            const std::vector<std::string>& names = {}) {
  const Formula formula(parse_yaml(yaml));
  return eval(
      [&](const Values& x) {
        std::vector<GivenOperand> given;
        for (size_t i = 0; i < x.size(); ++i)
          given.push_back({.name = i < names.size() ? names[i] : "", .values = {x[i]}});
        return formula(given);
      },
      arguments);
}
HostTensor one(const std::string& yaml, const std::vector<HostTensor>& arguments,
               const std::vector<std::string>& names = {}) {
  const std::vector<HostTensor> out = run(yaml, arguments, names);
  EXPECT_EQ(out.size(), 1u);
  return out.at(0);
}

const HostTensor kX = vector({1, 2, 3, 4});

TEST(Formula, CallsOneFunction) {
  EXPECT_EQ(one("neg", {kX}), vector({-1, -2, -3, -4}));
  EXPECT_EQ(one("{function: roll, attributes: {shift: 1, axis: 0}}", {kX}), vector({4, 1, 2, 3}));
  EXPECT_EQ(one("{function: operator-}", {kX, kX}), vector({0, 0, 0, 0}));
  // The defaults are those of C++.
  EXPECT_EQ(one("sort", {vector({3, 1, 2})}), vector({1, 2, 3}));
  EXPECT_EQ(one("{function: sort, attributes: {order: descending}}", {vector({3, 1, 2})}),
            vector({3, 2, 1}));
}

TEST(Formula, OverloadsFollowTheGivenArguments) {
  EXPECT_EQ(one("{function: sub, attributes: {b: 1}}", {kX}), vector({0, 1, 2, 3}));
  EXPECT_EQ(one("{function: sub, attributes: {a: 1}}", {kX}), vector({0, -1, -2, -3}));
  EXPECT_EQ(one("sub", {vector({5}), vector({3})}, {"b", "a"}), vector({-2}));
}

TEST(Formula, ListsTakeTheRemainingTensors) {
  EXPECT_EQ(one("{function: concatenate, attributes: {axis: 0}}", {kX, vector({9})}),
            vector({1, 2, 3, 4, 9}));
  EXPECT_EQ(one("{function: dynamic_slice, attributes: {sizes: [2]}}",
                {kX, HostTensor::scalar(int32_t{1})}),
            vector({2, 3}));
}

TEST(Formula, OptionsAreAttributes) {
  EXPECT_EQ(
      one("{function: take, attributes: {mode: fill, fill: 7}}", {kX, HostTensor({2}, {1, 9})}),
      vector({2, 7}));
}

TEST(Formula, StepsSeeTheResultsOfEarlierOnes) {
  EXPECT_EQ(one("parameters: [x]\n"
                "steps:\n"
                "  back: {function: reverse, operands: [x], attributes: {axes: [0]}}\n"
                "  largest: {function: maximum, operands: {a: back, b: x}}\n",
                {kX}),
            vector({4, 3, 3, 4}));
  EXPECT_EQ(one("parameters: [x]\n"
                "steps:\n"
                "  best: {function: top_k, operands: [x], attributes: {k: 2}}\n"
                "results: [best.0]\n",
                {kX}),
            vector({4, 3}));
}

TEST(Formula, LoopsTakeFunctionsAsData) {
  const std::vector<HostTensor> out =
      run("parameters: [c, xs]\n"
          "steps:\n"
          "  loop:\n"
          "    function: scan\n"
          "    operands: {init: [c], xs: [xs]}\n"
          "    attributes:\n"
          "      length: 4\n"
          "      body:\n"
          "        parameters: [c, x]\n"
          "        steps: {next: {function: add, operands: [c, x]}}\n"
          "        results: [next, next]\n",
          {HostTensor::scalar(0.0f), kX});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0], HostTensor::scalar(10.0f));
  EXPECT_EQ(out[1], vector({1, 3, 6, 10}));
}

TEST(Formula, RematTakesAPolicy) {
  const auto printed = [](const std::string& policy) {
    const TensorFunction fn =
        tensor_function_from(parse_yaml("{function: remat, attributes: {fn: sin" + policy + "}}"));
    return print(*trace(fn, {{DType::kF32, {4}}}));
  };
  EXPECT_THAT(printed(""), HasSubstr("remat %1 {save nothing"));
  EXPECT_THAT(printed(", policy: save_everything"), HasSubstr("{save everything"));
  EXPECT_THAT(printed(", policy: save_dots"), HasSubstr("{save dots"));
  EXPECT_THAT(printed(", policy: offload_dots"), HasSubstr("{offload dots"));
  EXPECT_THAT(printed(", prevent_cse: false"), HasSubstr("{save nothing}"));
  EXPECT_THAT(printed(", prevent_cse: true"), HasSubstr("{save nothing, barrier}"));
  const std::string forms =
      "save_nothing|save_everything|save_dots|offload_dots|{save_names: {names, offload}}|"
      "{save_matching: {patterns, offload}}|{combine: [policy]}";
  EXPECT_EQ(error_of([&] { printed(", policy: save_dot"); }),
            "policy: expected " + forms + ", got \"save_dot\"");
  EXPECT_EQ(error_of([&] {
              printed(", policy: {save_names: {names: [a]}, combine: []}");
            }).find("policy: expected " + forms),
            0u);
  EXPECT_EQ(error_of([&] { printed(", policy: {save_name: {names: [a]}}"); }),
            "policy: no such key: save_name; did you mean 'save_names'? (keys: save_names, "
            "save_matching, combine)");
  EXPECT_EQ(error_of([&] { printed(", policy: {save_names: {patterns: [a]}}"); }),
            "policy: no such key: patterns (keys: names, offload)");
  EXPECT_EQ(error_of([&] {
              printed(", policy: {save_names: [a]}");
            }).find("policy: expected {names: [...], offload: [...]}, got"),
            0u);
  EXPECT_EQ(error_of([&] { printed(", policy: {combine: []}"); }).find("policy: remat policy"), 0u);
}

// The backward pass reads s = sin(x), which is tagged "s", and tanh(c) of c = cos(s), tagged "c".
TEST(Formula, RematTakesPoliciesByNamesAndPatterns) {
  using Counts = std::vector<int64_t>;
  const auto counted = [](const std::string& policy) -> Counts {
    const TensorFunction fn = tensor_function_from(
        parse_yaml("function: value_and_grad\n"
                   "attributes:\n"
                   "  fn:\n"
                   "    parameters: [x]\n"
                   "    steps:\n"
                   "      y:\n"
                   "        function: remat\n"
                   "        operands: {arguments: [x]}\n"
                   "        attributes:\n"
                   "          policy: " +
                   policy +
                   "\n"
                   "          fn:\n"
                   "            parameters: [x]\n"
                   "            steps:\n"
                   "              a: {function: sin, operands: [x]}\n"
                   "              s: {function: name, operands: [a], attributes: {tag: s}}\n"
                   "              b: {function: cos, operands: [s]}\n"
                   "              c: {function: name, operands: [b], attributes: {tag: c}}\n"
                   "              d: {function: tanh, operands: [c]}\n"
                   "      loss: {function: sum, operands: [y]}\n"));
    const auto region = trace(fn, {{DType::kF32, {4}}});
    return {count_ops(*region, "sin"), count_ops(*region, "cos"), count_ops(*region, "place")};
  };
  EXPECT_EQ(counted("save_nothing"), (Counts{3, 3, 0}));
  EXPECT_EQ(counted("{save_names: {names: [s]}}"), (Counts{2, 3, 0}));
  EXPECT_EQ(counted("{save_names: {names: [c]}}"), (Counts{3, 2, 0}));
  EXPECT_EQ(counted("{save_names: {names: ['?']}}"), (Counts{2, 2, 0}));
  EXPECT_EQ(counted("{save_names: {offload: [s]}}"), (Counts{2, 3, 2}));
  EXPECT_EQ(counted("{save_names: {names: [c], offload: [s]}}"), (Counts{2, 2, 2}));
  EXPECT_EQ(counted("{save_matching: {patterns: ['s|c']}}"), (Counts{2, 2, 0}));
  EXPECT_EQ(counted("{save_matching: {patterns: ['[s-z]'], offload: ['[a-c]']}}"),
            (Counts{2, 2, 2}));
  EXPECT_EQ(counted("{combine: [{save_names: {names: [s]}}, {save_matching: {patterns: [c]}}]}"),
            (Counts{2, 2, 0}));
  EXPECT_EQ(counted("{combine: [save_dots, {save_names: {names: [c]}}]}"), (Counts{3, 2, 0}));
}

// y = sin(x k) with three times its gradient for x, and none for k.
const char kTripled[] =
    "parameters: [x, k]\n"
    "steps:\n"
    "  y:\n"
    "    function: custom_vjp\n"
    "    operands: {arguments: [x, k]}\n"
    "    attributes:\n"
    "      name: tripled\n"
    "      num_outputs: 1\n"
    "      without_gradient: [1]\n"
    "      forward:\n"
    "        parameters: [x, k]\n"
    "        steps:\n"
    "          a: {function: mul, operands: [x, k]}\n"
    "          y: {function: sin, operands: [a]}\n"
    "        results: [y, a, k]\n"
    "      backward:\n"
    "        parameters: [a, k, g]\n"
    "        steps:\n"
    "          c: {function: cos, operands: [a]}\n"
    "          d: {function: mul, operands: [c, k]}\n"
    "          e: {function: mul, operands: [d, g]}\n"
    "          f: {function: mul, operands: [e], attributes: {b: 3}}\n";

TEST(Formula, CustomVjpTakesItsRuleAsData) {
  const TensorFunction fn = tensor_function_from(parse_yaml(kTripled));
  EXPECT_THAT(print(*trace(fn, {kX.type(), kX.type()})), HasSubstr("{tripled}"));
  const auto gradients = [&](const Values& v) {
    auto [out, pullback] = vjp(fn, v);
    const Values g = pullback({full_like(out[0], 1)});
    return Values{out[0], g[0], full_like(v[1], g[1] ? 1 : 0)};
  };
  const HostTensor k = vector({0.5, 1, 2, 3});
  const std::vector<HostTensor> out = eval(gradients, {kX, k});
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(out[0].at(i), std::sin(kX.at(i) * k.at(i)), 1e-6);
    EXPECT_NEAR(out[1].at(i), 3 * k.at(i) * std::cos(kX.at(i) * k.at(i)), 1e-5);
    EXPECT_EQ(out[2].at(i), 0);
  }
}

TEST(Formula, MistakesInCustomVjpNameTheExpectedCounts) {
  const auto error = [](std::string_view from, std::string_view to) {
    std::string yaml = kTripled;
    yaml.replace(yaml.find(from), from.size(), to);
    const TensorFunction fn = tensor_function_from(parse_yaml(yaml));
    const auto gradient = [&](const Values& v) -> Values {
      auto [out, pullback] = vjp(fn, v);
      return pullback({full_like(out[0], 1)});
    };
    return error_of<Error>([&] { eval(gradient, {kX, kX}); });
  };
  EXPECT_EQ(error("num_outputs: 1", "num_outputs: 4"),
            "steps.y: num_outputs: expected 1 to 3, the number of results of the forward function, "
            "got 4");
  EXPECT_EQ(error("without_gradient: [1]", "without_gradient: [2]"),
            "steps.y: without_gradient: expected ascending numbers of the 2 arguments, got [2]");
  EXPECT_EQ(error("without_gradient: [1]", "without_gradient: [1, 0]"),
            "steps.y: without_gradient: expected ascending numbers of the 2 arguments, got [1, 0]");
  EXPECT_THAT(
      error("without_gradient: [1]", "without_gradient: []"),
      HasSubstr("custom_vjp tripled: expected a backward function with a result for each of "
                "the 2 arguments that have a gradient, got 1"));
  EXPECT_THAT(error("without_gradient: [1]", "without_gradient: [0, 1]"),
              HasSubstr("for each of the 0 arguments that have a gradient, got 1"));
  const std::string f = "          f: {function: mul, operands: [e], attributes: {b: 3}}\n";
  EXPECT_THAT(error(f, f + "        results: [f, f]\n"),
              HasSubstr("for each of the 1 arguments that have a gradient, got 2"));
}

TEST(Formula, TangentsAreOnlyForDifferentiableArguments) {
  const auto derived = [](const std::string& tangents) {
    return run(
        "{parameters: [x, n, t], steps: {y: {function: jvp, operands: {arguments: [x, n], "
        "tangents: [" +
            tangents +
            "]}, attributes: {fn: {parameters: [x, n], steps: {a: "
            "{function: square, operands: [x]}, b: {function: neg, operands: [n]}}, results: "
            "[b, a]}}}}, results: [y.0, y.1, y.2]}",
        {vector({3}), HostTensor({1}, {5}), vector({10})});
  };
  const std::vector<HostTensor> y = derived("t");
  EXPECT_EQ(y[0], HostTensor({1}, {-5}));
  EXPECT_EQ(y[1], vector({9}));
  EXPECT_EQ(y[2], vector({60}));
  EXPECT_THAT(error_of<Error>([&] { derived("t, t"); }),
              HasSubstr("tangents: expected one for each of the 1 floating-point or complex "
                        "arguments, got 2"));
}

TEST(Formula, VmapTakesAxesAndASize) {
  const auto mapped = [](const std::string& attributes, const HostTensor& x) {
    return one("{function: vmap, attributes: {fn: neg" + attributes + "}}", {x});
  };
  const HostTensor rows({2, 2}, {1.f, 2.f, 3.f, 4.f});
  EXPECT_EQ(mapped("", rows), HostTensor({2, 2}, {-1.f, -2.f, -3.f, -4.f}));
  EXPECT_EQ(mapped(", in_axes: [1], out_axes: [0]", rows),
            HostTensor({2, 2}, {-1.f, -3.f, -2.f, -4.f}));
  EXPECT_EQ(mapped(", in_axes: [none], axis_size: 2", vector({5})),
            HostTensor({2, 1}, {-5.f, -5.f}));
  EXPECT_EQ(mapped(", in_axes: [none], out_axes: [none], axis_size: 2", vector({5})), vector({-5}));
  EXPECT_THAT(error_of<Error>([&] { mapped(", axis_size: 3", rows); }),
              HasSubstr("expected batches of one size, got 3 and 2"));
}

TEST(Formula, MistakesNameTheExpectedArguments) {
  const auto error = [](const std::string& yaml, const std::vector<HostTensor>& x = {kX}) {
    return error_of([&] { run(yaml, x); });
  };
  EXPECT_EQ(error("rol"),
            "rol: no such function; did you mean 'roll'?; axle eval-op --list prints all");
  // Of several overloads the name is said once.
  EXPECT_EQ(error("{function: ad}"),
            "ad: no such function; did you mean 'add' or 'pad'?; axle eval-op --list prints all");
  EXPECT_EQ(error("roll"),
            "roll needs the attribute 'shift'; expected roll(x, shift: int, axis: int)");
  EXPECT_EQ(error("{function: roll, attributes: {shift: 1, axs: 0}}"),
            "roll has no attribute 'axs'; did you mean 'axis'?; expected roll(x, shift: int, axis: "
            "int)");
  EXPECT_EQ(error("{function: roll, attributes: {shift: a, axis: 0}}"),
            "shift: expected an integer, got 'a'");
  EXPECT_THAT(error("{function: sort, attributes: {order: up}}"),
              HasSubstr("order: expected ascending or descending, got 'up'"));
  EXPECT_THAT(error("neg", {kX, kX}), HasSubstr("takes 1 operand;"));
  EXPECT_THAT(error("add"), HasSubstr("has no overload for these operands and attributes"));
  EXPECT_THAT(error("{parameters: [x], steps: {a: {function: neg, operands: [y]}}}"),
              HasSubstr("steps.a: y: no such value"));
}

TEST(Formula, FunctionsThatDoNotExistAreNamedBeforeAnythingRuns) {
  const auto error = [](const std::string& yaml) {
    return error_of([&] { const Formula formula(parse_yaml(yaml)); });
  };
  EXPECT_THAT(error("random.unifrm"),
              HasSubstr("no such function; did you mean 'random::uniform'"));
  EXPECT_THAT(error("{function: bernoulli}"), HasSubstr("did you mean 'random::bernoulli'?;"));
  EXPECT_THAT(error("{steps: {a: {function: expp}}}"),
              HasSubstr("steps.a: expp: no such function"));
  EXPECT_THAT(error("{steps: {a: expp}}"), HasSubstr("steps.a: expp: no such function"));
  EXPECT_EQ(error("{parameters: [x, x], steps: {a: neg}}"),
            "parameters: expected each name once, got 'x' twice");
  EXPECT_EQ(error("{parameters: [x], steps: {x: neg}}"),
            "steps.x: expected another name than that of a parameter");
}

TEST(Formula, OperandKindsAreKnown) {
  using Kind = Parameter::Kind;
  const Formula scan(parse_yaml("{function: scan, attributes: {}}"));
  EXPECT_EQ(scan.operand_kind("xs", 0), Kind::kTensors);
  EXPECT_EQ(scan.operand_kind("", 0), Kind::kTensors);
  EXPECT_EQ(scan.operand_kind("", 1), std::nullopt);  // of init or of xs
  EXPECT_EQ(scan.operand_kind("ys", 0), std::nullopt);
  const Formula switched(parse_yaml("switch_case"));
  EXPECT_EQ(switched.operand_kind("index", 0), Kind::kTensor);
  EXPECT_EQ(switched.operand_kind("", 1), Kind::kTensors);
  EXPECT_EQ(switched.operand_name(0, 3), "index");
  EXPECT_EQ(switched.operand_name(2, 3), "arguments.1");
  EXPECT_EQ(scan.operand_name(1, 2), "xs");
  EXPECT_EQ(scan.operand_name(1, 3), "");
  EXPECT_EQ(Formula(parse_yaml("pad")).operand_kind("", 1), Kind::kTensor);  // of one overload
  EXPECT_EQ(Formula(parse_yaml("neg")).operand_name(1, 2), "");
  const Formula steps(parse_yaml("{parameters: [x], steps: {a: {function: neg, operands: [x]}}}"));
  EXPECT_EQ(steps.operand_kind("x", 0), std::nullopt);
  EXPECT_EQ(steps.operand_name(0, 1), "x");
  EXPECT_EQ(steps.operand_name(1, 2), "");
}

TEST(AttributeValue, MapsOfOptionsRefuseUnknownKeys) {
  using random::PrngOptions;
  const auto read = [](const char* yaml) { return attribute_from<PrngOptions>(parse_yaml(yaml)); };
  EXPECT_EQ(read("{threefry: original}").threefry, random::ThreefryMode::kOriginal);
  EXPECT_EQ(error_of([&] { read("{threefri: original}"); }),
            "no such key: threefri; did you mean 'threefry'? (keys: threefry, wide_keys)");
}

TEST(TensorLiteral, ShapesAndDtypes) {
  const auto read = [](const std::string& yaml) { return tensor_from(parse_yaml(yaml)); };
  EXPECT_EQ(read("[[1, 2], [3, 4]]"), HostTensor({2, 2}, {1.f, 2.f, 3.f, 4.f}));
  EXPECT_EQ(read("{dtype: i32, values: 3}"), HostTensor::scalar(int32_t{3}));
  EXPECT_EQ(read("{dtype: i64, shape: [2], values: [9007199254740993, -1]}"),
            HostTensor({2}, {int64_t{9007199254740993}, int64_t{-1}}));
  EXPECT_EQ(read("{shape: [2, 2], values: [1, 2, 3, 4]}"),
            HostTensor({2, 2}, {1.f, 2.f, 3.f, 4.f}));
  EXPECT_EQ(read("{shape: [3], values: 2}"), vector({2, 2, 2}));
  EXPECT_EQ(read("{dtype: pred, values: [true, false]}"), HostTensor({2}, {true, false}));
  EXPECT_EQ(read("{values: [inf, -inf]}").at(1), -std::numeric_limits<double>::infinity());
  using C = std::complex<float>;
  EXPECT_EQ(read("{dtype: c64, shape: [2], values: [[1, 2], [3, 4]]}"),
            HostTensor({2}, {C(1, 2), C(3, 4)}));
  EXPECT_EQ(read("{dtype: c64, shape: [2], values: [1, 2]}"), HostTensor({2}, {C(1), C(2)}));
  EXPECT_THAT(error_of([&] { read("[[1, 2], [3]]"); }), HasSubstr("expected a list of 2 values"));
  EXPECT_THAT(error_of([&] { read("{shape: [-1], values: 1}"); }),
              HasSubstr("expected a shape of sizes from 0, got [\"-1\"]"));
  EXPECT_THAT(error_of([&] { read("{shape: [4294967296, 4294967296], values: 1}"); }),
              HasSubstr("expected a shape of at most 1125899906842624 elements, got [\"42"));
  EXPECT_THAT(error_of([&] { read("{shpe: [1], values: 1}"); }),
              HasSubstr("no such key: shpe; did you mean 'shape'?"));
  EXPECT_THAT(error_of([&] { read("{dtype: pred, values: 2}"); }),
              HasSubstr("expected a number of pred, got \"2\""));
  EXPECT_THAT(error_of([&] { read("{dtype: u8, values: 256}"); }),
              HasSubstr("expected a number of u8"));
  EXPECT_THAT(error_of([&] { read("{shape: [3], values: [1, 2]}"); }),
              HasSubstr("values: expected 3 or 1 for all, got 2"));
}

}  // namespace
}  // namespace axle
