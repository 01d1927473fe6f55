#include "comparison/eval_op.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "comparison/tensor_comparison.h"
#include "io/file.h"
#include "runtime/interpreter_runtime.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

HostTensor vector(std::initializer_list<float> values) {
  return HostTensor({std::ssize(values)}, values);
}

class EvalOp : public ::testing::Test {
 protected:
  OpCases read(const std::string& yaml) {
    replace_file(dir_ / "case.yaml", yaml);
    return read_op_cases(dir_ / "case.yaml");
  }
  // Runs the only case of a file.
  Tree<HostTensor> run(const std::string& yaml, const Tree<HostTensor>& inputs = {},
                       bool f64 = false) {
    const OpCases file = read(yaml);
    save_safetensors(dir_ / "in.safetensors", inputs);
    const SafetensorsFile opened(dir_ / "in.safetensors");
    if (!file.broken.empty()) throw Error(file.broken[0].error);
    const OpCase& op = file.cases.at(0);
    InterpreterRuntime runtime(op.shard_map ? op.shard_map->mesh.num_devices() : 1);
    return eval_op(op, &opened, runtime, f64);
  }
  std::string error(const std::string& yaml, const Tree<HostTensor>& inputs = {}) {
    return without_folder(error_of<Error>([&] { run(yaml, inputs); }));
  }
  std::string without_folder(std::string message) const {
    const std::string folder = dir_ / "";
    for (size_t at = message.find(folder); at != message.npos; at = message.find(folder))
      message.erase(at, folder.size());
    return message;
  }
  TempDir dir_;
};

TEST_F(EvalOp, ReadsInputsByPositionByNameAndAsNumbers) {
  EXPECT_EQ(run("function: sub", {{"in0", vector({5})}, {"in1", vector({3})}}).at("out0"),
            vector({2}));
  EXPECT_EQ(
      run("{name: a, function: neg}", {{"a/in0", vector({5})}, {"in0", vector({3})}}).at("out0"),
      vector({-5}));
  EXPECT_EQ(run("{function: sub, inputs: {b: left, a: right}}",
                {{"left", vector({5})}, {"right", vector({3})}})
                .at("out0"),
            vector({-2}));
  EXPECT_EQ(run("{function: concatenate, inputs: {parts: [x, x]}, attributes: {axis: 0}}",
                {{"x", vector({5})}})
                .at("out0"),
            vector({5, 5}));
  EXPECT_EQ(run("{function: add, inputs: {a: [1, 2], b: {dtype: f32, values: 3}}}").at("out0"),
            vector({4, 5}));
  EXPECT_EQ(run("{function: exp, inputs: {x: {tensor: x, shape: [2, 1], dtype: f64}}}",
                {{"x", vector({0, 0})}})
                .at("out0"),
            HostTensor({2, 1}, {1.0, 1.0}));
}

TEST_F(EvalOp, ListsOfNumbersForAListOfTensorsAreSeveralTensors) {
  const std::string head = "{function: concatenate, attributes: {axis: 0}, inputs: ";
  EXPECT_EQ(run(head + "{parts: [[1, 2], [3, 4]]}}").at("out0"), vector({1, 2, 3, 4}));
  EXPECT_EQ(run(head + "{parts: [[1, 2], x]}}", {{"x", vector({5})}}).at("out0"),
            vector({1, 2, 5}));
  EXPECT_EQ(run("{function: stack, inputs: {parts: [1, 2]}}").at("out0"), vector({1, 2}));
  // In order, each is one tensor of the list.
  EXPECT_EQ(run(head + "[[1, 2], [3, 4]]}").at("out0"), vector({1, 2, 3, 4}));
  EXPECT_EQ(run(head + "{parts: {values: [[1, 2], [3, 4]]}}}").at("out0"),
            HostTensor({2, 2}, {1.f, 2.f, 3.f, 4.f}));
  const Tree<HostTensor> loop =
      run("{function: scan, inputs: {init: [0], xs: [[1, 2]]}, attributes: {length: 2, body: {"
          "parameters: [sum, x], steps: {next: {function: add, operands: [sum, x]}}, "
          "results: [next, next]}}}");
  EXPECT_EQ(loop.at("out0"), HostTensor::scalar(3.f));
  EXPECT_EQ(loop.at("out1"), vector({1, 3}));
}

TEST_F(EvalOp, AnEmptyListIsATensorWhereTheFunctionTakesOne) {
  EXPECT_EQ(run("{function: neg, inputs: {x: []}}").at("out0"), HostTensor::zeros({0}));
  EXPECT_EQ(run("{function: neg, inputs: [[]]}").at("out0"), HostTensor::zeros({0}));
  EXPECT_EQ(run("{function: neg, inputs: {x: [[], []]}}").at("out0"), HostTensor::zeros({2, 0}));
}

// All dtypes of files, and shapes of rank 0 to 3: what a report of results prints as JSON is an
// input of the next case.
TEST_F(EvalOp, ResultsAreReadBack) {
  const std::vector<float> numbers = {1.5f, 2.f, 0.f, 3.f, 0.25f, 0.5f, 2.f, 1.f};
  for (auto i = static_cast<int>(DType::kPred); i <= static_cast<int>(DType::kC128); ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Shape& shape : {Shape{},
                               {1},
                               {2},
                               {3},
                               {1, 2},
                               {2, 1},
                               {2, 2},
                               {2, 4},
                               {0},
                               {2, 0},
                               {2, 2, 2},
                               {1, 1, 2},
                               {1, 1, 1}}) {
      HostTensor x(Type{DType::kF32, shape});
      std::copy_n(numbers.begin(), x.size(), x.values<float>().begin());
      HostTensor value = x.astype(dtype);
      if (is_complex(dtype) && value.size() > 1) {
        dispatch_complex(dtype, [&]<class T>(std::type_identity<T>) {
          value.values<T>()[1] = T(std::numeric_limits<typename T::value_type>::infinity(), -1);
          value.values<T>()[0] = T(2, std::numeric_limits<typename T::value_type>::quiet_NaN());
        });
      }
      nlohmann::ordered_json given = to_json(OpResults{.tensors = {{"out0", value}}})["results"][0];
      given.erase("name");
      const HostTensor read = run("{function: reshape, attributes: {shape: [" +
                                  (shape.empty() ? "" : fmt::format("{}", fmt::join(shape, ", "))) +
                                  "]}, inputs: {x: " + given.dump() + "}}")
                                  .at("out0");
      EXPECT_EQ(tensor_text(read, 99), tensor_text(value, 99)) << given;
    }
  }
}

TEST_F(EvalOp, ComplexNumbersOfAShapeAreNestedOrInOneList) {
  const auto read = [&](const std::string& shape, const std::string& values) {
    const auto out =
        run("{function: real, inputs: {z: {dtype: c64" +
            (shape.empty() ? "" : ", shape: " + shape) + ", values: " + values + "}}}");
    return out.at("out0");
  };
  const HostTensor square({2, 2}, {1.f, 2.f, 3.f, 4.f});
  EXPECT_EQ(read("[2, 2]", "[[1, 9], [2, 9], [3, 9], [4, 9]]"), square);
  EXPECT_EQ(read("[2, 2]", "[[[1, 9], [2, 9]], [[3, 9], [4, 9]]]"), square);
  EXPECT_EQ(read("[2, 2]", "[[1, 2], [3, 4]]"), square);
  EXPECT_EQ(read("[2, 2]", "[1, 2, 3, 4]"), square);
  EXPECT_EQ(read("[2, 2]", "[[[1, 9], 2], [3, [4, 9]]]"), square);
  EXPECT_EQ(read("", "[[[1, 9], [2, 9]], [[3, 9], [4, 9]]]"), square);
  EXPECT_EQ(read("[2, 1, 2]", "[[1, 9], [2, 9], [3, 9], [4, 9]]"),
            HostTensor({2, 1, 2}, {1.f, 2.f, 3.f, 4.f}));
  EXPECT_EQ(read("[2, 2]", "[[5, 9]]"), HostTensor({2, 2}, {5.f, 5.f, 5.f, 5.f}));
  EXPECT_EQ(read("[2, 2]", "5"), HostTensor({2, 2}, {5.f, 5.f, 5.f, 5.f}));
  EXPECT_EQ(read("[2]", "[1, 2]"), vector({1, 2}));
  EXPECT_EQ(read("[]", "[1, 2]"), HostTensor::scalar(1.f));
  EXPECT_THAT(error("{function: real, inputs: {z: {dtype: c64, shape: [2, 2], values: "
                    "[[1, 2], [3, 4], [5, 6]]}}}"),
              HasSubstr("values: expected 4 or 1 for all, got 3"));
}

TEST_F(EvalOp, YamlSpellingsOfNanAndInfinityAreNumbers) {
  const auto text = [&](const std::string& values) {
    return tensor_text(run("{function: neg, inputs: [" + values + "]}").at("out0"), 9);
  };
  EXPECT_EQ(text("[1, .nan, .NaN, .NAN, nan, NaN]"), "f32[6] {-1, nan, nan, nan, nan, nan}");
  EXPECT_EQ(text("[.inf, -.inf, +.inf, .Inf, -.INF, inf, -inf]"),
            "f32[7] {-inf, inf, -inf, -inf, inf, -inf, inf}");
  EXPECT_EQ(text("{dtype: f64, values: [-.inf, .nan]}"), "f64[2] {inf, nan}");
  EXPECT_EQ(text(".inf"), "f32[] {-inf}");
  EXPECT_EQ(text("[True, FALSE, true]"), "f32[3] {-1, -0, -1}");
  EXPECT_EQ(
      tensor_text(run("{function: full, attributes: {shape: [1], value: -.inf}}").at("out0"), 9),
      "f32[1] {-inf}");
  EXPECT_THAT(error("{function: neg, inputs: [{dtype: i32, values: [.nan]}]}"),
              HasSubstr("expected a number of i32, got \".nan\""));
  EXPECT_THAT(error("{function: neg, inputs: [.nam]}"), HasSubstr(".nam: no such tensor"));
}

TEST_F(EvalOp, AssociativeScanTakesItsFunctionAsData) {
  EXPECT_EQ(run("{function: associative_scan, inputs: {x: [[1, 2, 3, 4, 5]]}, "
                "attributes: {combine: add, axis: 0}, vjp: true, cotangents: {0: [1, 1, 1, 1, 1]}}")
                .at("grad0"),
            vector({5, 4, 3, 2, 1}));
  const Tree<HostTensor> out =
      run("function: associative_scan\n"
          "inputs: {x: [[2, 2, 2], [1, 1, 1]]}\n"
          "attributes:\n"
          "  axis: 0\n"
          "  combine:\n"
          "    parameters: [a1, b1, a2, b2]\n"
          "    steps:\n"
          "      a: {function: mul, operands: [a1, a2]}\n"
          "      b: {function: mul, operands: [b1, a2]}\n"
          "      sum: {function: add, operands: [b, b2]}\n"
          "    results: [a, sum]\n");
  EXPECT_EQ(out.at("out0"), vector({2, 4, 8}));
  EXPECT_EQ(out.at("out1"), vector({1, 3, 7}));
  // A body that returns a parameter has no steps: the last of the two, at every index.
  EXPECT_EQ(run("{function: associative_scan, inputs: {x: [[1, 2, 3]]}, attributes: {axis: 0, "
                "combine: {parameters: [a, b], steps: {}, results: [b]}}}")
                .at("out0"),
            vector({1, 2, 3}));
  const std::string head =
      "{function: associative_scan, inputs: {x: [[1, 2]]}, attributes: {axis: ";
  EXPECT_THAT(error(head + "0, combine: {parameters: [a, b], steps: {}}}}"),
              HasSubstr("expected steps: {NAME: {function: ...}}"));
  EXPECT_THAT(error(head + "0, combine: less}}"),
              HasSubstr("associative_scan: expected a function that returns the types of its first "
                        "half, got pred[1]"));
  EXPECT_THAT(error(head + "0, combine: {parameters: [a, b], steps: {s: {function: add, operands: "
                           "[a, b]}}, results: [s, s]}}}"),
              HasSubstr("got f32[1], f32[1]"));
  EXPECT_THAT(error(head + "3, combine: add}}"), HasSubstr("expected an axis"));
  EXPECT_THAT(error("{function: associative_scan, attributes: {axis: 0, combine: add}}"),
              HasSubstr("expected a function with results, got none; name inputs"));
}

TEST_F(EvalOp, ABadCustomVjpNamesTheRuleAndNoLineOfTheProgram) {
  const auto bad = [&](const std::string& forward, const std::string& backward) {
    return error(
        "{function: custom_vjp, inputs: {arguments: [[1, 2], [3, 4]]}, vjp: true, cotangents: {0: "
        "[1, 1]}, attributes: {name: mine, forward: {parameters: [x, k], steps: {y: {function: "
        "mul, operands: [x, k]}}, results: [" +
        forward + "]}, backward: " + backward + "}}");
  };
  for (const std::string& message :
       {bad("y", "neg"),
        bad("y", "{parameters: [g], steps: {s: {function: sum, operands: [g]}}, results: [g, s]}"),
        bad("y, k", "{parameters: [k, g], steps: {s: {function: mul, operands: [k, g]}}}"),
        // A cotangent of the wrong shape or dtype is named with the op of the rule that made it.
        bad("y", "{parameters: [g], steps: {s: {function: sum, operands: [g]}}, results: [s, s]}"),
        bad("y",
            "{parameters: [g], steps: {s: {function: astype, operands: [g], attributes: {dtype: "
            "bf16}}}, results: [s, s]}"),
        bad("y", "{parameters: [g, h], steps: {s: {function: neg, operands: [g]}}}")}) {
    EXPECT_THAT(message, HasSubstr("mine"));
    EXPECT_THAT(message, Not(::testing::ContainsRegex("[.](cpp|h)[:]")));
    EXPECT_THAT(message, StartsWith("case.yaml:1: "));
  }
  EXPECT_THAT(bad("y", "{parameters: [g, h], steps: {s: {function: neg, operands: [g]}}}"),
              HasSubstr("custom_vjp mine: backward: h: expected an argument, got none"));
}

// Whichever function visits windows, and in every mode.
TEST_F(EvalOp, IndicesMustBeIntegers) {
  const std::string inputs =
      "inputs: [[[1, 2], [3, 4]], {dtype: c64, shape: [2, 1], values: [[0, 1], [1, 0]]}, [[1, 2], "
      "[3, 4]]]";
  for (const char* name : {"scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"}) {
    for (const char* mode : {"clip", "drop", "promise_in_bounds"}) {
      EXPECT_THAT(
          error(fmt::format("{{function: {}, {}, attributes: {{offset: [1], collapsed: [0], "
                            "index_map: [0], index_vector_dim: 1, mode: {}}}}}",
                            name, inputs, mode)),
          HasSubstr(fmt::format("{}: indices must be integers, got c64", name)));
    }
  }
}

TEST_F(EvalOp, Vjp) {
  const Tree<HostTensor> out =
      run("{function: mul, vjp: true}",
          {{"in0", vector({2, 3})}, {"in1", vector({5, 7})}, {"ct0", vector({1, 10})}});
  EXPECT_EQ(out.at("out0"), vector({10, 21}));
  EXPECT_EQ(out.at("grad0"), vector({5, 70}));
  EXPECT_EQ(out.at("grad1"), vector({2, 30}));
  // Integers have no gradient; what has no influence has a gradient of zero.
  const Tree<HostTensor> rows =
      run("{function: take, inputs: [[1, 2], {dtype: i32, values: [1]}], vjp: true, "
          "cotangents: {0: [3]}}");
  EXPECT_EQ(rows.at("grad0"), vector({0, 3}));
  EXPECT_FALSE(rows.contains("grad1"));
  EXPECT_EQ(
      run("{function: floor, inputs: [[1.5]], vjp: true, cotangents: {out0: [3]}}").at("grad0"),
      vector({0}));
}

TEST_F(EvalOp, Vmap) {
  const Tree<HostTensor> in = {{"in0", HostTensor({2, 2}, {1.f, 2.f, 3.f, 4.f})},
                               {"in1", vector({10, 20})}};
  EXPECT_EQ(run("{function: add, vmap: {in_axes: [0, none]}}", in).at("out0"),
            HostTensor({2, 2}, {11.f, 22.f, 13.f, 24.f}));
  EXPECT_EQ(run("{function: add, vmap: {in_axes: [1, none], out_axes: 1}}", in).at("out0"),
            HostTensor({2, 2}, {11.f, 12.f, 23.f, 24.f}));
  // vjp is taken of the whole batch.
  Tree<HostTensor> with_cotangent = in;
  with_cotangent.emplace("ct0", HostTensor({2, 2}, {1.f, 1.f, 1.f, 1.f}));
  EXPECT_EQ(
      run("{function: add, vmap: {in_axes: [0, none]}, vjp: true}", with_cotangent).at("grad1"),
      vector({2, 2}));
}

TEST_F(EvalOp, CollectivesRunOnSimulatedDevices) {
  EXPECT_EQ(run("{function: psum, attributes: {axes: data}, inputs: [[1, 2, 3, 4]],\n"
                " shard_map: {mesh: data=2, in_specs: [[data]], out_specs: [[]]}}")
                .at("out0"),
            vector({4, 6}));
}

// The sum over the axis "model" alone; what a device holds of "data" stays apart.
TEST_F(EvalOp, ShardMapTakesItsManualAxesAndDimsThatAreNotDivided) {
  const std::string call =
      "{function: psum, attributes: {axes: model}, inputs: [[[1, 2, 3, 4], [5, 6, 7, 8]]],\n"
      " shard_map: {mesh: 'data=2,model=2', ";
  const HostTensor sums({2, 2}, {4.f, 6.f, 12.f, 14.f});
  const auto sum = [&](const std::string& specs) { return run(call + specs + "}}").at("out0"); };
  EXPECT_EQ(sum("in_specs: [[none, model]], out_specs: [[]], axes: [model]"), sums);
  EXPECT_EQ(sum("in_specs: [[[], model]], out_specs: [[none, none]], axes: model"), sums);
  EXPECT_EQ(sum("in_specs: [[data, model]], out_specs: [[data]]"), sums);
  EXPECT_EQ(sum("in_specs: [[none, [model]]], out_specs: [[none]]"), sums);
  EXPECT_EQ(error(call + "in_specs: [[data, model]], out_specs: [[data]], axes: [model]}}")
                .find("case.yaml:1: "),
            0u);
}

// The batch of a constraint is divided over the mesh axes.
TEST_F(EvalOp, VmapTakesASizeAndMeshAxes) {
  EXPECT_EQ(run("{function: neg, inputs: [[5]], vmap: {in_axes: none, axis_size: 2}}").at("out0"),
            HostTensor({2, 1}, {-5.f, -5.f}));
  const OpCases file = read("{function: neg, inputs: [[5]], vmap: {mesh_axes: [data, model]}}");
  ASSERT_EQ(file.broken.size(), 0u);
  EXPECT_EQ(file.cases[0].vmap->mesh_axes, (DimAxes{"data", "model"}));
}

TEST_F(EvalOp, F64KeepsTheDigitsOfTheWholeComputation) {
  const std::string steps =
      "inputs: [[1]]\nparameters: [x]\nsteps:\n"
      "  more: {function: add, operands: [x], attributes: {b: 1e-12}}\n"
      "  rest: {function: sub, operands: [more], attributes: {b: 1}}\n";
  EXPECT_EQ(run(steps).at("out0").at(0), 0);
  const HostTensor exact = run(steps, {}, true).at("out0");
  EXPECT_EQ(exact.dtype(), DType::kF64);
  EXPECT_NEAR(exact.at(0), 1e-12, 1e-15);
}

TEST_F(EvalOp, ModesOfRandomKeysAreChosen) {
  const std::string split = "{function: random.split, inputs: [{dtype: u32, values: [0, 42]}]";
  EXPECT_NE(run(split + "}").at("out0"), run(split + ", prng: {threefry: original}}").at("out0"));
}

TEST_F(EvalOp, MistakesNameFileAndLine) {
  EXPECT_EQ(error("function: neg\nvjpp: true\n"),
            "case.yaml:2: no such key: vjpp; did you mean 'vjp'? (keys: attributes, cotangents, "
            "expected, function, inputs, name, parameters, prng, results, shard_map, steps, "
            "tolerance, vjp, vmap)");
  EXPECT_EQ(error("cases:\n- function: neg\n- function: neg\n  vjp: 3\n"),
            "case.yaml:4: vjp: expected true or false, got '3'");
  EXPECT_EQ(error("inputs_file: x\ncases: []\n"), "case.yaml:2: cases: expected a list of cases");
  EXPECT_EQ(error("vjp: true\n"), "case.yaml:1: expected either function: NAME or steps: {...}");
  EXPECT_EQ(error("function: neg\ninputs: [y]\n", {{"x", vector({1})}}),
            "case.yaml:1: y: no such tensor in the file of inputs; did you mean 'x'?");
  EXPECT_EQ(error("function: neg\n"), "case.yaml:1: neg needs the operand 'x'; expected neg(x)");
  EXPECT_EQ(error("{function: neg, inputs: [1], cotangents: {0: 1}}"),
            "case.yaml:1: cotangents: expected use with vjp: true, got no vjp");
  for (const char* cotangents : {"", ", cotangents: {0: 1}"}) {
    EXPECT_EQ(error(std::string("{function: argmax, inputs: [[1, 2]], attributes: {axis: 0}, ") +
                    "vjp: true" + cotangents + "}"),
              "case.yaml:1: cotangent: expected a floating-point or complex output, got none");
  }
  EXPECT_EQ(error("function: neg\nvjp: true\n", {{"in0", vector({1})}}),
            "case.yaml:1: cotangent/out0: expected f32[1], got none");
  EXPECT_THAT(error("funktion: neg\n"),
              StartsWith("case.yaml:1: no such key: funktion; did you mean 'function'? (keys: "));
  EXPECT_EQ(
      error("name: a\nfunction: negg\n"),
      "case.yaml:1: a: negg: no such function; did you mean 'neg'?; axle eval-op --list prints "
      "all");
}

TEST_F(EvalOp, ShapeErrorsNameTheOperandsOfTheCase) {
  EXPECT_EQ(error("{name: sum, function: add, inputs: {b: [1, 2], a: [1, 2, 3]}}"),
            "case.yaml:1: sum: add: shapes [3] and [2] do not broadcast; "
            "operands: f32[3] of a (parameter), f32[2] of b (parameter)");
  EXPECT_EQ(error("function: add\n", {{"in0", vector({1, 2})}, {"in1", vector({1, 2, 3})}}),
            "case.yaml:1: add: shapes [2] and [3] do not broadcast; "
            "operands: f32[2] of a (parameter), f32[3] of b (parameter)");
  EXPECT_EQ(error("{function: concatenate, attributes: {axis: 0}, inputs: {parts: [[1], [[2]]]}}"),
            "case.yaml:1: concatenate: expected parts with as many dims, got f32[1] and f32[1, 1]; "
            "operands: f32[1] of parts.0 (parameter), f32[1, 1] of parts.1 (parameter)");
  EXPECT_EQ(error("{function: add, inputs: [[[1, 2]], [[1, 2, 3]]], vmap: true}"),
            "case.yaml:1: add: shapes [2] and [3] do not broadcast; "
            "operands: f32[2] of a (parameter), f32[3] of b (parameter)");
  EXPECT_EQ(error("parameters: [x, y]\nsteps:\n  twice: {function: mul, operands: [x], attributes: "
                  "{b: 2}}\n  sum: {function: add, operands: [twice, y]}\n"
                  "inputs: [[1, 2], [1, 2, 3]]\n"),
            "case.yaml:1: sum: add: shapes [2] and [3] do not broadcast; "
            "operands: f32[2] of twice (mul), f32[3] of y (parameter)");
}

TEST_F(EvalOp, MeshWithTooManyDevicesFailsOnlyItsCase) {
  for (const char* size : {"100000", "-1"}) {
    const OpCases file = read(std::string("cases:\n- {function: neg, inputs: [[1]], shard_map: "
                                          "{mesh: data=") +
                              size +
                              ", in_specs: [[data]], out_specs: [[data]]}}\n"
                              "- {name: b, function: neg}\n");
    EXPECT_EQ(file.cases.size(), 1u);
    ASSERT_EQ(file.broken.size(), 1u);
    EXPECT_EQ(without_folder(file.broken[0].error.what()),
              std::string("case.yaml:2: shard_map: mesh: data=") + size +
                  ": expected 1 to 1024 devices of one machine, got " + size);
  }
}

TEST_F(EvalOp, BrokenCasesDoNotStopTheOthers) {
  const OpCases file = read(
      "cases:\n"
      "- {name: a, function: neg, vjp: 3}\n"
      "- {name: b, function: neg}\n"
      "- {name: b, function: exp}\n"
      "- 3\n"
      "- {function: neg}\n"
      "- {function: exp}\n");
  ASSERT_EQ(file.cases.size(), 2u);
  EXPECT_EQ(file.cases[0].name, "b");
  EXPECT_EQ(file.cases[1].where, dir_ / "case.yaml:6");
  std::vector<std::string> messages, names;
  for (const BrokenCase& broken : file.broken) {
    messages.push_back(without_folder(broken.error.what()));
    names.push_back(broken.name);
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "", ""));
  EXPECT_THAT(
      messages,
      ElementsAre("case.yaml:2: a: vjp: expected true or false, got '3'",
                  "case.yaml:4: b: expected a name of its own, got that of case.yaml:3",
                  "case.yaml:5: expected {function: NAME, ...}",
                  "case.yaml:7: expected a name of its own, got none, as the case of case.yaml:6"));
}

TEST_F(EvalOp, KnowsWhichCasesReadTheFile) {
  const auto reads = [&](const std::string& yaml, const Tree<HostTensor>& inputs) {
    save_safetensors(dir_ / "in.safetensors", inputs);
    return reads_file(read(yaml).cases.at(0), SafetensorsFile(dir_ / "in.safetensors"));
  };
  EXPECT_TRUE(reads("function: neg", {{"in0", vector({1})}}));
  EXPECT_FALSE(reads("function: neg", {{"in1", vector({1})}}));
  EXPECT_FALSE(reads("{function: neg, name: a}", {{"in0", vector({1})}}));
  EXPECT_FALSE(reads("{function: neg, inputs: [[1]]}", {{"in0", vector({1})}}));
  EXPECT_TRUE(reads("{function: neg, inputs: {x: y}}", {{"in0", vector({1})}}));
  EXPECT_FALSE(reads("{function: neg, inputs: [[1]]}", {{"ct0", vector({1})}}));
  EXPECT_TRUE(reads("{function: neg, inputs: [[1]], vjp: true}", {{"ct0", vector({1})}}));
  EXPECT_FALSE(reads("{function: neg, inputs: [[1]], vjp: true, cotangents: {0: [1]}}",
                     {{"ct0", vector({1})}}));
}

TEST_F(EvalOp, WrongAxesOfVmapAreNamed) {
  const auto axes = [&](const std::string& vmap) {
    return error("{function: add, inputs: [[[1, 2]], [[3, 4]]], vmap: {" + vmap + "}}");
  };
  EXPECT_EQ(axes("in_axes: [5, 0], out_axes: 0"),
            "case.yaml:1: vmap: expected an axis of 2 dims, got 5; "
            "operands: f32[1, 2] of a (parameter)");
  EXPECT_EQ(axes("in_axes: [0, 0, 0], out_axes: 0"),
            "case.yaml:1: vmap: expected in_axes for 2 values, got 3; "
            "operands: f32[1, 2] of a (parameter), f32[1, 2] of b (parameter)");
  EXPECT_EQ(axes("in_axs: 0"),
            "case.yaml:1: vmap: no such key: in_axs; did you mean 'in_axes'? (keys: axis_size, "
            "in_axes, mesh_axes, out_axes)");
  EXPECT_EQ(axes("axis_size: x"), "case.yaml:1: vmap: axis_size: expected an integer, got 'x'");
}

TEST(FunctionList, NamesSignatures) {
  EXPECT_EQ(to_text(list_functions({"roll"})), "roll(x, shift: int, axis: int)\n");
  EXPECT_EQ(to_text(list_functions({"random.permutation"})),
            "random::permutation(key, n: int)\n"
            "random::permutation(key, x, axis: int = 0)\n");
  EXPECT_GT(list_functions({}).functions.size(), 300u);
}

}  // namespace
}  // namespace axle
