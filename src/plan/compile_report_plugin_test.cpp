// Compile reports of real programs of the CPU plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"
#include "config/register.h"
#include "layers/models/model.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "pjrt/plugin/plugin.h"
#include "plan/compile_report_text.h"
#include "recipes/resolve/resolve.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

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
    return {.loss = astype(sum(weight_()), DType::kF32)};
  }
  Tensor logits_forward(const Tree<Tensor>&) override { return weight_(); }
  Tensor next_logits_forward(const Tree<Tensor>&) override { return weight_(); }

 private:
  Param weight_;
};
AXLE_REGISTER(ForTrainingOnly)

// The CPU's compiler with another compile function.
class StandInCompiler final : public Compiler {
 public:
  using Compile = std::function<std::unique_ptr<CompiledProgram>()>;
  StandInCompiler(const Target& target, Compile compile)
      : Compiler(target), real_(make_compiler(target)), compile_(std::move(compile)) {}
  const Plugin& plugin() const override { return real_->plugin(); }
  const Topology& topology() const override { return real_->topology(); }
  LoweringTarget lowering_target() const override { return real_->lowering_target(); }
  std::unique_ptr<CompiledProgram> compile(const Program&, const CompileOptions&) override {
    return compile_();
  }

 private:
  std::unique_ptr<Compiler> real_;
  Compile compile_;
};

class StandInProgram final : public CompiledProgram {
 public:
  explicit StandInProgram(std::function<std::string()> optimized)
      : optimized_(std::move(optimized)) {}
  std::string serialize() const override { return "bytes"; }
  std::optional<MemoryStats> memory() const override {
    return MemoryStats{.argument_bytes = 5, .temporary_bytes = 7};
  }
  std::string optimized_program() const override { return optimized_(); }

 private:
  std::function<std::string()> optimized_;
};

class CompileReportOnCpu : public ::testing::Test {
 protected:
  void SetUp() override { AXLE_NEEDS_PLUGIN("cpu"); }
  static LoweredStep lowered(const std::string& on, const std::string& mesh) {
    const Target target = parse_target(on);
    const Resolved resolved = resolve_config(
        {.recipe = "fuji-test-v1", .edits = {SetField{"mesh", mesh}}, .machine = target.machine()});
    return lower_step(resolved.config, "fuji-test-v1", target);
  }
  static CompileReport report(const std::string& on, const std::string& mesh) {
    return compile_step(lowered(on, mesh));
  }
  static CompileReport report_by(StandInCompiler::Compile compile) {
    const LoweredStep step = lowered("cpu:1", "data=1");
    return compile_step(step,
                        [&] { return std::make_unique<StandInCompiler>(step.target, compile); });
  }
};

TEST_F(CompileReportOnCpu, UnreadableProgramLosesOnlyItsTable) {
  const auto report_of = [](std::function<std::string()> optimized) {
    return report_by([=] { return std::make_unique<StandInProgram>(optimized); });
  };
  const std::pair<const char*, std::function<std::string()>> kinds[] = {
      {"", [] { return std::string(100, '\xff'); }},
      {"at: 7", []() -> std::string { throw std::out_of_range("at: 7"); }},
      {"lost", []() -> std::string { throw DeviceError("lost"); }},
      {"a bug", []() -> std::string { throw InternalError("a bug"); }}};
  for (const auto& [why, optimized] : kinds) {
    const CompileReport r = report_of(optimized);
    EXPECT_THAT(r.unreadable_reason, HasSubstr(why));
    EXPECT_NE(r.unreadable_reason, "") << why;
    EXPECT_FALSE(r.collectives) << why;
    EXPECT_EQ(r.memory.value().total_bytes(), 12) << why;
    EXPECT_EQ(exit_code_of(r), ExitCode::kOk) << why;
    EXPECT_THAT(to_text(r), HasSubstr(r.unreadable_reason));
  }
  EXPECT_EQ(report_of([] { return std::string(); }).unreadable_reason, "")
      << "none is not a bad one";
}

TEST_F(CompileReportOnCpu, ARefusalKeepsTheCompilersListOfLargestBuffers) {
  const CompileReport r = report_by([]() -> std::unique_ptr<CompiledProgram> {
    throw DoesNotFitError("program 'step': Used 18.50G of 15.75G hbm.",
                          "Largest program allocations in hbm:\n\n  1. Size: 4.00G\n"
                          "     Operator: op_name=\"jit(step)/model.decoder/dot_general\"\n"
                          "     Shape: f32[32,32768]{1,0}\n  2. Size: 1.00G\n");
  });
  ASSERT_EQ(r.largest.size(), 2u);
  EXPECT_EQ(r.largest[0].bytes, int64_t{4} << 30);
  EXPECT_EQ(r.largest[0].shape, "f32[32,32768]");
  EXPECT_EQ(r.largest[1].bytes, int64_t{1} << 30);
  EXPECT_EQ(r.fits(), false);
  EXPECT_THAT(to_text(r), HasSubstr("f32[32,32768]"));
}

// XLA's CPU compiler makes no reduce-scatters: it sums whole gradients of layers, and each device
// keeps its shard.
TEST_F(CompileReportOnCpu, ReduceScattersThatBecameAllReducesAreReported) {
  const CompileReport r = report("cpu:4", "fsdp=4");
  bool found = false;
  for (const CollectiveRow& row : r.collectives.value()) {
    if (row.kind != "all-reduce" || !row.backward || !row.in_loop) continue;
    EXPECT_EQ(row.implemented_kind, "reduce-scatter") << to_text(r);
    found = true;
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(to_texts(r.findings),
              Contains(HasSubstr(" reduce-scatters are implemented by all-reduces")));
}

// An all-reduce whose result each device uses whole is a plain all-reduce.
TEST_F(CompileReportOnCpu, AllReducesOfDataParallelismAreNotReported) {
  const CompileReport r = report("cpu:2", "data=2");
  for (const CollectiveRow& row : r.collectives.value())
    EXPECT_EQ(row.implemented_kind, "") << to_text(r);
}

// Unknown model FLOPs do not refuse the mesh; only the MFU is missing.
TEST_F(CompileReportOnCpu, AModelThatOnlyTrainsHasNoMfu) {
  const Target target = parse_target("cpu:2");
  Trainer::Config config =
      resolve_config({.recipe = "fuji-test-v1", .machine = target.machine()}).config;
  config.model = ForTrainingOnly::Config{};
  config.mesh = {{{"data", 2}}};
  const CompileReport r = compile_step(lower_step(config, "fuji-test-v1", target));
  EXPECT_EQ(r.size.model_flops, 0);
  EXPECT_EQ(r.num_parameters, 3);
  EXPECT_THAT(r.warnings, Contains(HasSubstr("mfu stays 0: ")));
}

}  // namespace
}  // namespace axle
