// What a compile report tells of real programs of the CPU plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/register.h"
#include "inspect/compile_report.h"
#include "layers/model.h"
#include "ops/reduce.h"
#include "recipes/resolve.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

using testing::Contains;
using testing::HasSubstr;

class ForTrainingOnly final : public Model {
 public:
  struct Config {
    AXLE_CONFIG(ForTrainingOnly)
  };
  ForTrainingOnly(const Config&, const Dims&, const Scope& scope)
      : Model(scope), weight_(param("weight", {.shape = {3}, .init = Ones{}})) {}
  int64_t vocab_size() const override { return 4; }

 protected:
  ModelOutput forward(const Tree<Tensor>&) override {
    if (!is_training()) throw ConfigError("made for training only");
    return {.loss = sum(weight_())};
  }
  Tensor logits_forward(const Tree<Tensor>&) override { return weight_(); }
  Tensor next_logits_forward(const Tree<Tensor>&) override { return weight_(); }

 private:
  Param weight_;
};
AXLE_REGISTER(ForTrainingOnly)

class CompileReportOnCpu : public testing::Test {
 protected:
  void SetUp() override { AXLE_NEEDS_PLUGIN("cpu"); }
  static CompileReport report(const std::string& on, const std::string& mesh) {
    const Target target = parse_target(on);
    const Resolved resolved = resolve_config(
        {.recipe = "fuji-test-v1", .edits = {SetField{"mesh", mesh}}, .machine = target.machine()});
    return compile_report(lower_step(resolved.config, "fuji-test-v1", target));
  }
};

// XLA's CPU compiler makes no scatters: gradients of layers are summed whole, and each device keeps
// its part.
TEST_F(CompileReportOnCpu, ScattersThatBecameAllReducesAreSaid) {
  const CompileReport r = report("cpu:4", "fsdp=4");
  bool found = false;
  for (const CollectiveRow& row : r.collectives.value()) {
    if (row.kind != "all-reduce" || !row.backward || !row.in_loop) continue;
    EXPECT_EQ(row.in_place_of, "reduce-scatter") << to_text(r);
    found = true;
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(r.findings, Contains(HasSubstr(" reduce-scatters are done by all-reduces")));
}

// Sums of what no device keeps a part of are what they are called.
TEST_F(CompileReportOnCpu, AllReducesOfDataParallelismAreNone) {
  const CompileReport r = report("cpu:2", "data=2");
  for (const CollectiveRow& row : r.collectives.value())
    EXPECT_EQ(row.in_place_of, "") << to_text(r);
}

// It is no mistake of the mesh, and costs the MFU alone.
TEST_F(CompileReportOnCpu, AModelThatOnlyTrainsHasNoMfu) {
  const Target target = parse_target("cpu:2");
  Trainer::Config config =
      resolve_config({.recipe = "fuji-test-v1", .machine = target.machine()}).config;
  config.model = ForTrainingOnly::Config{};
  config.mesh = {{{"data", 2}}};
  const CompileReport r = compile_report(lower_step(config, "fuji-test-v1", target));
  EXPECT_EQ(r.size.model_flops, 0);
  EXPECT_EQ(r.num_parameters, 3);
  EXPECT_THAT(r.warnings, Contains(HasSubstr("mfu stays 0: ")));
}

}  // namespace
}  // namespace axle
