// The collectives of each kind of parallelism of a training step over eight virtual devices,
// counted in the optimised program.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "plan/parallelism_test.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr const char* kSequenceParallel = "modify: [SequenceParallel: {}]\n";

class Parallelism : public PluginTest {
 protected:
  CompileReport report(const std::string& mesh, bool sequence_parallel = false) {
    return report_with(mesh, sequence_parallel ? kSequenceParallel : "");
  }
  CompileReport report_with(const std::string& mesh, const std::string& yaml) {
    return report_of_small("cpu:8", mesh, yaml, "none");
  }
};

TEST_F(Parallelism, DataSumsOnlyGradients) {
  const CompileReport r = report("data=8");
  EXPECT_EQ(count_of_kind(r, "all-gather"), 0);
  // One all-reduce sums all gradients of a layer.
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "data", true}), kNumLayers);
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "data", false}), 0);
  EXPECT_TRUE(r.warnings.empty());
}

TEST_F(Parallelism, FsdpGathersEachParameterOnceAPass) {
  const CompileReport r = report("fsdp=8");
  for (const bool backward : {false, true}) {
    EXPECT_EQ(count_in_layers(r, {"all-gather", "fsdp", backward}), kShardedWeights * kNumLayers);
  }
  // One more gather is that of the embedding, for lookup and head together.
  EXPECT_EQ(count_of_kind(r, "all-gather"), 2 * kShardedWeights * kNumLayers + 1);
  std::map<std::pair<int64_t, bool>, int64_t> gathers;  // by parameter and pass
  for (const CollectiveRow& row : *r.collectives) {
    if (row.kind != "all-gather") continue;
    for (const int64_t argument : row.arguments) {
      EXPECT_GE(argument, 0) << "a computed value";
      if (row.layer.starts_with("model/decoder/layers"))
        gathers[{argument, row.backward}] += row.count;
    }
  }
  EXPECT_THAT(gathers, AllOf(SizeIs(2 * kShardedWeights), Each(Pair(_, kNumLayers))));
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "fsdp", true}), kNumLayers);
  EXPECT_TRUE(r.warnings.empty());
}

TEST_F(Parallelism, TensorSumsTwiceALayerAndDirection) {
  const CompileReport r = report("model=8");
  // Forward: after the output projection of attention and after `down`. Backward: before the
  // projection of queries, keys and values, and before gate and up.
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", false}), 2 * kNumLayers);
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", true}), 2 * kNumLayers);
  EXPECT_EQ(count_of_kind(r, "all-gather"), 0);
  EXPECT_EQ(count_of_kind(r, "all-to-all"), 0);
  EXPECT_EQ(count_of_kind(r, "collective-permute"), 0);
  EXPECT_TRUE(r.warnings.empty());
}

TEST_F(Parallelism, SequenceGathersBeforeAndDividesAfterEachSum) {
  const CompileReport r = report("model=8", true);
  // In each pass there are two gathers of values that are whole under tensor parallelism. Instead
  // of a reduce-scatter, the CPU compiler makes an all-reduce, of which each device takes its part.
  EXPECT_EQ(count_in_layers(r, {"all-gather", "model", false}), 2 * kNumLayers);
  EXPECT_EQ(count_in_layers(r, {"all-gather", "model", true}), 2 * kNumLayers);
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", false, "dot_general"}), 2 * kNumLayers);
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", true, "dot_general"}), 2 * kNumLayers);
  // The other all-reduces are of the norms' gradients, one per layer.
  EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", true}), 3 * kNumLayers);
  EXPECT_EQ(count_of_kind(r, "all-to-all"), 0);
  EXPECT_EQ(count_of_kind(r, "collective-permute"), 0);
  EXPECT_TRUE(r.warnings.empty());
}

TEST_F(Parallelism, CombinedAxesAddUp) {
  for (const bool sequence_parallel : {false, true}) {
    SCOPED_TRACE(sequence_parallel);
    const CompileReport r = report("data=2,fsdp=2,model=2", sequence_parallel);
    for (const bool backward : {false, true}) {
      EXPECT_EQ(count_in_layers(r, {"all-gather", "fsdp", backward}), kShardedWeights * kNumLayers);
      EXPECT_EQ(count_in_layers(r, {"all-gather", "model", backward}),
                sequence_parallel ? 2 * kNumLayers : 0);
      EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", backward, "dot_general"}),
                2 * kNumLayers);
    }
    EXPECT_EQ(count_of_kind(r, "all-to-all"), 0);
    EXPECT_EQ(count_of_kind(r, "collective-permute"), 0);
    EXPECT_TRUE(r.warnings.empty());
  }
}

// Each device sums the lookup's gradient over its own tokens.
TEST_F(Parallelism, LookupsDoNotMoveTokens) {
  for (const char* mesh : {"fsdp=8", "fsdp=2,model=4", "data=2,fsdp=2,model=2",
                           "data=2,fsdp=2,seq=2", "fsdp=2,seq=2,model=2"}) {
    SCOPED_TRACE(mesh);
    const CompileReport r = report(mesh);
    EXPECT_EQ(count_of_kind(r, "all-to-all"), 0);
    EXPECT_EQ(count_of_kind(r, "collective-permute"), 0);
    EXPECT_TRUE(r.warnings.empty());
  }
}

// Each device has queries that belong to one of the two key/value heads, and computes the keys and
// values of that head only. Devices exchange the heads of weights and of gradients, never the keys
// and values of tokens.
TEST_F(Parallelism, MoreDevicesThanKeyHeadsMoveNoHeads) {
  for (const char* mesh : {"model=8", "fsdp=2,model=4"}) {
    SCOPED_TRACE(mesh);
    const CompileReport r = report_with(mesh, kFewKeyHeads);
    EXPECT_EQ(count_of_kind(r, "all-to-all"), 0);
    EXPECT_EQ(count_of_kind(r, "collective-permute"), 0);
    EXPECT_EQ(count_in_layers(r, {"all-reduce", "model", false}), 2 * kNumLayers);
    // The size of a weight of two heads in f32. The keys of a device's tokens are at least four
    // times as large.
    EXPECT_LE(most_gathered_over_model(r), 64 * 2 * 8 * 4);
    EXPECT_TRUE(r.warnings.empty());
  }
}

// The name of a mesh axis does not matter: its role makes it one of the axes that layers know.
TEST_F(Parallelism, NamesOfAxesMakeNoDifference) {
  const auto lines = [](const CompileReport& r) {
    std::vector<std::string> out;
    for (const CollectiveRow& row : *r.collectives)
      out.push_back(
          fmt::format("{} x{} {} {} {}", row.kind, row.count, row.bytes, row.layer, row.op));
    std::ranges::sort(out);
    return out;
  };
  const CompileReport known = report("data=2,fsdp=2,model=2"),
                      own = report("replica:data=2,shard:fsdp=2,tensor:model=2");
  EXPECT_EQ(lines(known), lines(own));
  EXPECT_EQ(known.memory->argument_bytes, own.memory->argument_bytes);
  EXPECT_TRUE(own.warnings.empty());
}

TEST_F(Parallelism, ArgumentsShrinkWithTheDevicesThatShareThem) {
  // Norm scales, keys and counters stay whole on each device; a batch is 16 rows of 64 tokens.
  const auto argument_bytes = [&](const std::string& mesh) {
    return report(mesh).memory->argument_bytes;
  };
  const int64_t two = argument_bytes("data=4,fsdp=2"), four = argument_bytes("data=2,fsdp=4"),
                eight = argument_bytes("fsdp=8");
  // All three meshes divide the batch by eight. So the differences come only from the sharded state
  // of s bytes: s/2 - s/4 and s/4 - s/8.
  EXPECT_EQ(two - four, 2 * (four - eight));
  EXPECT_GT(two, 3 * eight);
}

}  // namespace
}  // namespace axle
