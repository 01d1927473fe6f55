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
                     {{"out0", HostTensor({static_cast<int64_t>(values.size())}, values)}});
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

TEST_F(EvalOpVerb, OneCaseThatFailsLeavesTheOthersTheirResults) {
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
  EXPECT_EQ(run({"--only", "c"}).err, "axle: --only: no such case: c\n");
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
  EXPECT_EQ(run_axle({"eval-op"}).err, "axle eval-op: expected CASE.yaml or --list, got neither\n");
  EXPECT_EQ(run_axle({"eval-op", dir_ / "case.yaml", "--f64"}).err,
            "axle: --f64: expected --backend interpreter, got cpu\n");
  EXPECT_EQ(run_axle({"eval-op", dir_ / "none.yaml"}).code, 2);
}

}  // namespace
}  // namespace axle
