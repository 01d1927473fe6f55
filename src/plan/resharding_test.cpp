#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/op_name.h"
#include "ops/ops.h"
#include "plan/compiler_findings.h"
#include "transform/control_flow/control_flow.h"
#include "transform/trace.h"

namespace axle {
namespace {

using ::testing::SizeIs;

const Mesh kMesh{{{"data", 2}, {"model", 4}}};

template <class F>
Tensor in(std::string_view layer, F f) {
  NameScope scope(layer);
  return f();
}

// Returns exp -> constraint -> cast -> sum -> sin, in the layers named below. With the constraint
// each device holds 4 of 8 elements.
std::shared_ptr<Region> graph() {
  return trace(
      [](const Values& x) {
        const Tensor made = in("model/norm", [&] { return exp(x[0]); });
        const Tensor laid = in("model", [&] { return sharding_constraint(made, {{"data"}}); });
        const Tensor cast = in("model", [&] { return astype(laid, DType::kBF16); });
        const Tensor used = in("model/body", [&] { return sum(cast); });
        return Values{in("model/head", [&] { return sin(used); })};
      },
      {{DType::kF32, {8}}});
}

Collective at(std::string op_name, std::string kind = "all-gather", int64_t argument = -1,
              int64_t elements = 4) {
  const auto locations = op_locations(op_name);
  return {.kind = std::move(kind),
          .axes = {"model"},
          .bytes = 1 << 20,
          .count = 2,
          .layer = layer_text(locations),
          .op = op_text(locations),
          .op_name = std::move(op_name),
          .arguments = {argument},
          .elements = {elements}};
}

bool warned(const Collective& c) { return !unasked_moves({c}, *graph(), kMesh).empty(); }

TEST(Resharding, MovesAtConstraintsAreExpected) {
  EXPECT_FALSE(warned(at("model/sharding_constraint")));
  EXPECT_FALSE(warned(at("model/norm/exp")));
  EXPECT_FALSE(warned(at("model/convert", "all-to-all")));
  EXPECT_FALSE(warned(at("backward/model/body/reduce_sum")));
  EXPECT_FALSE(warned(at("model/head/sin;model/norm/exp")));
  EXPECT_TRUE(warned(at("model/head/sin")));
  EXPECT_TRUE(warned(at("model/head/exp")));
  EXPECT_TRUE(warned(at("")));
}

TEST(Resharding, OnlyMovesOfTheRequestedSizeAreExpected) {
  EXPECT_TRUE(warned(at("model/sharding_constraint", "all-gather", -1, 8)));
  EXPECT_TRUE(warned(at("model/norm/exp", "all-to-all", -1, 2)));
  Collective merged = at("model/(norm/exp:layers/scan)", "all-gather", -1, 4);
  merged.arguments = {-1, 2};
  merged.elements = {4, 100};
  EXPECT_FALSE(warned(merged));
  merged.arguments = {-1, -1};
  EXPECT_TRUE(warned(merged));
}

TEST(Resharding, ArgumentsMayBeGatheredFromTheirShardings) {
  EXPECT_FALSE(warned(at("model/head/sin", "all-gather", 2)));
  EXPECT_TRUE(warned(at("model/head/sin", "all-to-all", 2)));
}

TEST(Resharding, ReductionsAreNotReported) {
  EXPECT_FALSE(warned(at("model/head/sin", "all-reduce")));
  EXPECT_FALSE(warned(at("model/head/sin", "reduce-scatter")));
}

TEST(Resharding, CollectivesOfLayersAreNotReported) {
  for (const char* op : {"all_gather", "all_to_all", "ragged_all_to_all", "ppermute"}) {
    for (const char* kind : {"all-gather", "all-to-all", "collective-permute"})
      EXPECT_FALSE(warned(at(std::string("model/experts/") + op, kind))) << op << kind;
  }
  EXPECT_TRUE(warned(at("model/experts/take", "all-to-all")));
}

TEST(Resharding, PermutesBetweenStagesAreExpected) {
  EXPECT_TRUE(warned(at("model/sharding_constraint", "collective-permute")));
  EXPECT_FALSE(warned(at("model/head/dot_general", "collective-permute")));
  for (const char* axis : {"pipeline", "stage:pipeline"}) {
    Collective move = at("model/sharding_constraint", "collective-permute");
    move.axes = {axis};
    EXPECT_FALSE(warned(move)) << axis;
    move.axes.push_back("data");
    EXPECT_TRUE(warned(move)) << axis;
  }
}

TEST(Resharding, ConstraintsInLoopsCount) {
  const auto loop = trace(
      [](const Values& x) {
        NameScope scope("model/layer");
        const ScanBody body = [](const Values& carry, const Values&) -> ScanResult {
          return {{tanh(sharding_constraint(carry[0], {{"data"}}))}, {}};
        };
        return scan(body, {x[0]}, {}, 3).carry;
      },
      {{DType::kF32, {8}}});
  EXPECT_THAT(unasked_moves({at("model/layer/tanh")}, *loop, kMesh), SizeIs(0));
  EXPECT_THAT(unasked_moves({at("model/layer/scan")}, *loop, kMesh), SizeIs(1));
}

TEST(Resharding, LocationsAreReportedOnce) {
  const Collective one = at("model/head/sin");
  EXPECT_THAT(unasked_moves({one, at("model/head/exp")}, *graph(), kMesh), SizeIs(2));
  const auto found = moves_finding(unasked_moves({one, one}, *graph(), kMesh));
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(*found),
            "4 collectives that move values although nothing asks for it: 4.0 MiB per device (4.0 "
            "MiB all-gather over model at model/head (sin))");
  EXPECT_EQ(found->axis, "model");
  EXPECT_FALSE(moves_finding({}));
}

}  // namespace
}  // namespace axle
