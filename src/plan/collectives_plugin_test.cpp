// Programs with known collectives, partitioned by the real CPU plugin for eight devices.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "hlo/collectives.h"
#include "lower/stablehlo.h"
#include "ops/ops.h"
#include "pjrt/pjrt_runtime.h"
#include "plan/compiler_findings.h"
#include "testing/needs_plugin.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"
#include "transform/grad.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Mesh kData{{{"data", 8}}}, kFsdp{{{"fsdp", 8}}},
    kCube{{{"data", 2}, {"fsdp", 2}, {"model", 2}}};

class CollectivesOfPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    AXLE_NEEDS_PLUGIN("cpu");
    runtime_ = make_runtime({.num_devices = 8});
  }
  std::vector<Collective> collectives_of(const Executable& executable, const Mesh& mesh) {
    return collectives(read_hlo_module(executable.optimized_program()), mesh);
  }
  std::vector<Collective> collectives_of(const Program& program) {
    return collectives_of(*runtime_->compile(program), program.mesh);
  }
  std::unique_ptr<Runtime> runtime_;
};

// Computes the gradients of sum((tanh(x up) down)^2) with respect to x, up and down. Rows are
// sharded over data and fsdp, hidden units over model.
Values pair_of_products(const Values& all) {
  const auto loss = [](const Values& v) {
    const DimAxes rows = {"data", "fsdp"};
    Tensor hidden, out;
    {
      NameScope scope("model/up");
      hidden = tanh(sharding_constraint(dot(v[0], v[1]), {{rows, "model"}}));
    }
    NameScope scope("model/down");
    out = sharding_constraint(dot(hidden, v[2]), {{rows}});
    return Values{sum(out * out)};
  };
  return value_and_grad(loss, all).second;
}

Program pair_program(const Mesh& mesh, const PartitionSpec& x, const PartitionSpec& up,
                     const PartitionSpec& down) {
  const std::vector<ProgramValue> values = {{"x", {DType::kF32, {16, 32}}, x},
                                            {"up", {DType::kF32, {32, 64}}, up},
                                            {"down", {DType::kF32, {64, 32}}, down}};
  return trace_program("pair", pair_of_products, values, values, mesh);
}

// Returns one line per row: "all-reduce data x1 1024 B: model/up (dot_general)".
std::vector<std::string> lines(const std::vector<Collective>& all) {
  std::vector<std::string> out;
  for (const CollectiveRow& row : rows_of(all)) {
    out.push_back(fmt::format("{} {} x{} {} B: {}{} ({})", row.kind, fmt::join(row.axes, "+"),
                              row.count, row.bytes, row.backward ? "backward " : "", row.layer,
                              row.op));
  }
  std::ranges::sort(out);
  return out;
}

// Each device has the gradients of its rows. One all-reduce, which XLA has merged, sums the
// gradients of both matrices (32 x 64 + 64 x 32 floats). The loss is not a result of this program.
TEST_F(CollectivesOfPrograms, DataParallelismSumsGradients) {
  const Program program = pair_program(kData, {{{"data"}}}, {}, {});
  const auto all = collectives_of(program);
  EXPECT_THAT(lines(all), ElementsAre("all-reduce data x1 16384 B: backward model/{down, up} "
                                      "(dot_general)"));
  EXPECT_THAT(unasked_moves(all, *program.graph, program.mesh), IsEmpty());
}

// `up` is sharded by columns and `down` by rows, so that each device has its hidden units. There is
// one sum of the output (4 x 32 floats of its rows) in the forward pass and one of the gradient of
// x in the backward pass. The gradients of both matrices are summed over the axes of the rows.
TEST_F(CollectivesOfPrograms, TensorParallelismSumsOnceADirection) {
  const Program program =
      pair_program(kCube, {{{"data", "fsdp"}}}, {{{}, {"model"}}}, {{{"model"}}});
  const auto all = collectives_of(program);
  EXPECT_THAT(lines(all),
              ElementsAre("all-reduce data+fsdp x1 8192 B: backward model/{down, up} (dot_general)",
                          "all-reduce model x1 512 B: backward model/up (dot_general)",
                          "all-reduce model x1 512 B: model/down (dot_general)"));
  EXPECT_THAT(unasked_moves(all, *program.graph, program.mesh), IsEmpty());
}

// Each matrix is gathered once and used in both passes. The CPU plugin sums whole gradients and
// each device keeps its shard; other plugins reduce-scatter.
TEST_F(CollectivesOfPrograms, ShardedParametersAreGathered) {
  const Program program = pair_program(kFsdp, {{{"fsdp"}}}, {{{"fsdp"}}}, {{{}, {"fsdp"}}});
  const auto all = collectives_of(program);
  std::map<int64_t, int64_t> gathers;
  for (const Collective& c : all) {
    EXPECT_THAT(c.axes, ElementsAre("fsdp"));
    if (c.kind != "all-gather") continue;
    EXPECT_EQ(c.bytes, 32 * 64 * 4);
    for (const int64_t argument : c.arguments) gathers[argument] += c.count;
  }
  EXPECT_THAT(gathers, ElementsAre(::testing::Pair(1, 1), ::testing::Pair(2, 1)));
  EXPECT_THAT(lines(all),
              ::testing::Contains("all-reduce fsdp x1 16384 B: backward model/{down, up} "
                                  "(dot_general)"));
  EXPECT_THAT(unasked_moves(all, *program.graph, program.mesh), IsEmpty());
}

// A constraint moves the sharding from rows to columns: each device sends its 2 x 32 floats.
TEST_F(CollectivesOfPrograms, MovesForAConstraintAreNotReported) {
  const Type type{DType::kF32, {16, 32}};
  const PartitionSpec rows{{{"data"}}}, columns{{{}, {"data"}}};
  const Program asked = trace_program(
      "asked",
      [&](const Values& x) {
        NameScope scope("model");
        return Values{tanh(sharding_constraint(tanh(x[0]), columns))};
      },
      {{"x", type, rows}}, {{"y", type, columns}}, kData);
  EXPECT_THAT(lines(collectives_of(asked)), ElementsAre("all-to-all data x1 256 B: model (tanh)"));
  EXPECT_THAT(unasked_moves(collectives_of(asked), *asked.graph, kData), IsEmpty());

  // One of two operands must move, and no constraint says which.
  const Program unasked = trace_program(
      "unasked",
      [](const Values& x) {
        NameScope scope("model");
        return Values{tanh(x[0]) * tanh(x[1])};
      },
      {{"x", type, rows}, {"z", type, columns}}, {{"y", type, columns}}, kData);
  EXPECT_THAT(lines(collectives_of(unasked)), ElementsAre("all-to-all data x1 256 B: model (mul)"));
  const auto moves = moves_finding(unasked_moves(collectives_of(unasked), *unasked.graph, kData));
  ASSERT_TRUE(moves);
  EXPECT_THAT(to_text(*moves), HasSubstr("(256 B all-to-all over data at model (mul))"));
}

// A training step sums all gradients, each in the loop iteration that makes it. Besides, it sums
// only the loss and its count of tokens.
TEST_F(CollectivesOfPrograms, DataParallelismSendsGradientsOnce) {
  const StepRun run(*runtime_, StepRunOptions{.model = tiny_model(tiny_loop(0.2)),
                                              .learner = tiny_learner(),
                                              .batch = batch_spec(8, 16),
                                              .mesh = kData});
  int64_t parameters = 0, sent = 0;
  for (const ProgramValue& input : run.program().inputs) {
    if (input.name.starts_with("model/")) parameters += input.type.num_bytes();
  }
  for (const Collective& c : collectives_of(run.executable(), kData)) {
    EXPECT_EQ(c.kind, "all-reduce");
    EXPECT_THAT(c.axes, ElementsAre("data"));
    sent += c.count * c.bytes;
  }
  EXPECT_GE(sent, parameters);
  // The embedding's gradient has two parts, from the lookup and from the head.
  EXPECT_LE(sent, parameters + 32 * 16 * 4 + 64);
}

}  // namespace
}  // namespace axle
