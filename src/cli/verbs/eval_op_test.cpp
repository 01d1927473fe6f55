// Tests `eval-op` through the command line.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class EvalOpVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    replace_file(dir_ / "case.yaml", "{function: roll, attributes: {shift: 1, axis: 0}}");
    save_safetensors(dir_ / "in.safetensors", {{"in0", HostTensor({3}, {1.f, 2.f, 3.f})}});
  }
  Ran run(const Arguments& more) {
    return run_axle(joined({"eval-op", dir_ / "case.yaml", "--inputs", dir_ / "in.safetensors",
                            "--backend", "interpreter"},
                           more));
  }
  void expect_reference(std::initializer_list<float> values) {
    save_safetensors(dir_ / "reference.safetensors",
                     {{"out0", HostTensor({std::ssize(values)}, values)}});
  }
  TempDir dir_;
};

TEST_F(EvalOpVerb, PrintsOrWritesResults) {
  const Ran printed = run({});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out, StartsWith("out0 f32[3]"));
  const std::string file = dir_ / "out.safetensors";
  EXPECT_EQ(run({"--output", file}).out, file + "\n");
  EXPECT_EQ(load_safetensors(file).at("out0"), HostTensor({3}, {3.f, 1.f, 2.f}));
}

TEST_F(EvalOpVerb, ATensorOfManyDimsIsRefused) {
  std::string shape = "1";
  for (int i = 1; i < 5000; ++i) shape += ", 1";
  replace_file(dir_ / "case.yaml",
               "{function: exp, inputs: {x: {shape: [" + shape + "], values: 2}}, vjp: true}");
  const Ran ran = run_axle({"eval-op", dir_ / "case.yaml", "--backend", "interpreter"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("case.yaml:1: "));
  EXPECT_THAT(ran.err, ::testing::EndsWith(": expected at most 64 dims, got 5000\n"));
}

TEST_F(EvalOpVerb, JsonHoldsTheResults) {
  replace_file(dir_ / "case.yaml",
               "cases:\n"
               "- {name: a, function: log, inputs: {x: [[-1, 0, 1]]}}\n"
               "- {name: b, function: argmax, inputs: {x: in0}, attributes: {axis: 0}}\n"
               "- {name: c, function: neg, inputs: {x: none_such}}\n");
  const Ran ran = run({"--json"});
  EXPECT_EQ(ran.code, 3);
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["results"], nlohmann::json::parse(R"([
      {"name": "a/out0", "dtype": "f32", "shape": [1, 3], "values": ["nan", "-inf", 0.0]},
      {"name": "b/out0", "dtype": "i32", "shape": [], "values": [2]}])"));
  ASSERT_EQ(json["failures"].size(), 1u);
  EXPECT_THAT(json["failures"][0], HasSubstr("case.yaml:4: c: none_such: no such tensor"));
  const std::string file = dir_ / "out.safetensors";
  const auto written = nlohmann::json::parse(run({"--json", "--only", "b", "--output", file}).out);
  EXPECT_EQ(written,
            nlohmann::json(
                {{"output", file},
                 {"results",
                  {{{"name", "b/out0"}, {"dtype", "i32"}, {"shape", nlohmann::json::array()}}}},
                 {"failures", nlohmann::json::array()}}));
}

TEST_F(EvalOpVerb, NansHaveNoSign) {
  replace_file(dir_ / "case.yaml", "{function: log, inputs: [[-1]]}");
  EXPECT_EQ(run_axle({"eval-op", dir_ / "case.yaml", "--backend", "interpreter"}).out,
            "out0 f32[1] {nan}\n");
}

TEST_F(EvalOpVerb, EveryFailureIsReportedAndTheOthersRun) {
  const std::string cases = dir_ / "case.yaml";
  replace_file(cases,
               "cases:\n"
               "- {name: a, function: roll, inputs: [in0], attributes: {shift: 1, axis: 7}}\n"
               "- {name: b, function: neg, inputs: [in0]}\n"
               "- {name: c, function: neg, vjp: maybe}\n"
               "- {name: b, function: exp, inputs: [in0]}\n");
  const Ran ran = run({});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, StartsWith("b/out0 f32[3] {-1, -2, -3}\n"));
  EXPECT_THAT(ran.out, HasSubstr("failed: " + cases + ":2: a: "));
  EXPECT_THAT(ran.out, HasSubstr("failed: " + cases + ":4: c: vjp: expected true or false"));
  EXPECT_THAT(ran.out, HasSubstr("failed: " + cases +
                                 ":5: b: expected a name of its own, got that "
                                 "of " +
                                 cases + ":3\n"));
  EXPECT_THAT(ran.err,
              StartsWith("axle: " + cases + ": expected 4 cases to run, got 3 that failed"));
  EXPECT_EQ(run({"--only", "a"}).out, "");
  EXPECT_EQ(run({"--only", "bb"}).err, "axle: --only: no such case: bb; did you mean 'b'?\n");
  EXPECT_THAT(run({"--only", "a"}).err, StartsWith("axle: " + cases + ":2: a: "));
  const std::string file = dir_ / "out.safetensors";
  EXPECT_EQ(run({"--output", file}).code, 2);
  EXPECT_EQ(load_safetensors(file).size(), 1u);
}

// The name of a function whose op has the same name is said once.
TEST_F(EvalOpVerb, AMessageNamesTheFunctionOnce) {
  const std::string cases = dir_ / "case.yaml";
  const auto error = [&](const std::string& text) {
    replace_file(cases, text);
    return run_axle({"eval-op", cases, "--backend", "interpreter"}).err;
  };
  EXPECT_THAT(error("function: einsum\nattributes: {spec: 'ij->ii'}\ninputs: {a: [[1, 2]]}\n"),
              StartsWith("axle: " + cases + ":1: einsum \"ij->ii\": 'i' occurs twice"));
  EXPECT_THAT(error("function: add\ninputs: {a: [1, 2], b: [1, 2, 3]}\n"),
              StartsWith("axle: " + cases + ":1: add: shapes [2] and [3] do not broadcast"));
}

TEST_F(EvalOpVerb, ACaseThatFailsDoesNotHideThatOthersDiffer) {
  replace_file(dir_ / "case.yaml",
               "cases:\n"
               "- {name: a, function: neg, inputs: [in7]}\n"
               "- {name: b, function: neg, inputs: [in0]}\n");
  save_safetensors(dir_ / "reference.safetensors", {{"b/out0", HostTensor({3}, {3.f, 1.f, 2.f})}});
  const Ran ran = run({"--compare", dir_ / "reference.safetensors"});
  EXPECT_EQ(ran.code, 3);  // that of the failure
  EXPECT_THAT(ran.err, HasSubstr("case.yaml:2: a: in7: no such tensor"));
  EXPECT_THAT(ran.err, HasSubstr("expected 1 tensor to agree, got 1 differ (b/out0)"));
}

TEST_F(EvalOpVerb, ResultsThatFilesCannotHoldArePrinted) {
  replace_file(dir_ / "case.yaml", "{function: astype, inputs: {x: in0}, attributes: {dtype: i4}}");
  const std::string file = dir_ / "out.safetensors";
  const Ran ran = run({"--output", file});
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(ran.out, "out0 i4[3] {1, 2, 3}\n");
  EXPECT_THAT(ran.err, HasSubstr("expected tensor 'out0' of one of"));
  EXPECT_FALSE(path_exists(file));
}

TEST_F(EvalOpVerb, ExitCodesOfComparisons) {
  const Arguments compare = {"--compare", dir_ / "reference.safetensors"};
  expect_reference({3, 1, 2});
  EXPECT_EQ(run(compare).code, 0);
  expect_reference({3, 1, 2.5});
  const Ran differs = run(compare);
  EXPECT_EQ(differs.code, 17);
  EXPECT_THAT(differs.out, HasSubstr("differs at [2]: 2 instead of 2.5"));
  EXPECT_THAT(differs.err, HasSubstr("expected 1 tensor to agree, got 1 differ (out0)"));
  EXPECT_EQ(run(joined(compare, {"--tolerance", "atol=0.5"})).code, 0);
  const Ran json = run(joined(compare, {"--json"}));
  EXPECT_EQ(nlohmann::json::parse(json.out)["tensors"][0]["worst"], "[2]: 2 instead of 2.5");
}

TEST_F(EvalOpVerb, FailedCasesDoNotStopTheOthers) {
  replace_file(dir_ / "case.yaml",
               "cases:\n"
               "- {name: a, function: roll, inputs: [in0], attributes: {shift: 1, axis: 7}}\n"
               "- {name: b, function: roll, inputs: [in0], attributes: {shift: 1, axis: 0}}\n");
  save_safetensors(dir_ / "reference.safetensors", {{"b/out0", HostTensor({3}, {3.f, 1.f, 2.f})}});
  const Ran ran = run({"--compare", dir_ / "reference.safetensors"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, HasSubstr("failed: " + (dir_ / "case.yaml") + ":2: "));
  EXPECT_THAT(ran.out, HasSubstr("b/out0"));
  EXPECT_EQ(run({"--compare", dir_ / "reference.safetensors", "--only", "b"}).code, 0);
  EXPECT_EQ(run({"--only", "cc"}).err, "axle: --only: no such case: cc\n");
}

TEST_F(EvalOpVerb, ListsFunctions) {
  EXPECT_EQ(run_axle({"eval-op", "--list", "--function", "roll"}).out,
            "roll(x, shift: int, axis: int)\n");
  const Ran json = run_axle({"eval-op", "--list", "--json"});
  EXPECT_GT(nlohmann::json::parse(json.out).size(), 300u);
}

TEST_F(EvalOpVerb, WrongArguments) {
  const auto expect = [&](const Arguments& more, const std::string& message) {
    const Ran ran = run(more);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, message + "\n");
  };
  expect({"--tolerance", "1"}, "axle: --tolerance: expected use with --compare, got no --compare");
  expect({"--compare", "x", "--tolerance", "y=1"},
         "axle: --tolerance: expected a number, bitwise, or some of largest=, rtol=, atol=, ulp=, "
         "got 'y=1'");
  expect({"--compare", "x", "--tolerance", "ulp=1.5"},
         "axle: --tolerance: ulp=: expected a whole number of units, got 1.5");
  expect({"--function", "roll"}, "axle: --function: expected use with --list, got no --list");
  expect({"--list"}, "axle: --list: expected no CASE.yaml, got " + (dir_ / "case.yaml"));
  EXPECT_EQ(run_axle({"eval-op", "--list", "--only", "a"}).err,
            "axle: --only: expected use without --list\n");
  EXPECT_EQ(run_axle({"eval-op"}).err, "axle eval-op: expected CASE.yaml or --list, got neither\n");
  EXPECT_EQ(run_axle({"eval-op", dir_ / "case.yaml", "--f64"}).err,
            "axle: --f64: expected --backend interpreter, got cpu\n");
  EXPECT_EQ(run_axle({"eval-op", dir_ / "none.yaml"}).code, 2);
  replace_file(dir_ / "empty.yaml", "");
  EXPECT_EQ(run_axle({"eval-op", dir_ / "empty.yaml"}).err,
            "axle: " + (dir_ / "empty.yaml") +
                ": expected {function: NAME, ...} or {cases: [...]}, got nothing\n");
  replace_file(dir_ / "case.yaml", "{function: neg, inputs: [[1]]}");
  expect({}, "axle: --inputs: " + (dir_ / "in.safetensors") +
                 ": expected a tensor that a case of " + (dir_ / "case.yaml") + " reads, got none");
}

}  // namespace
}  // namespace axle
