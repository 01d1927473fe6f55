// The collectives of a pipeline in a training step over eight virtual devices, counted in the
// optimised program. The recipe gets its pipeline from YAML.
#include <gmock/gmock.h>

#include "plan/parallelism_test.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

constexpr int64_t kMicrobatches = 4;

class PipelineProgram : public PluginTest {
 protected:
  // As a mesh rule replaces it: the fields that both classes have keep their values.
  static CompileReport report(const std::string& mesh, const std::string& more = "") {
    const std::string yaml = R"(
modify:
  - ReplaceClass: {replace: Repeat, with: Pipeline}
  - SetFields: {set: {model.decoder.layers.num_microbatches: "4")" +
                             more + "}}\n";
    return report_of_small("cpu:8", mesh, yaml, "none");
  }
  // Counts collectives over `pipeline` that move at least a microbatch's activations, on the whole
  // mesh: 4 rows of 64 tokens, 64 numbers each.
  static int64_t count_large(const CompileReport& r, const std::string& kind, bool backward) {
    int64_t count = 0;
    for (const CollectiveRow& row : *r.collectives) {
      if (row.kind == kind && row.axes == std::vector<std::string>{"pipeline"} &&
          row.backward == backward && row.bytes / row.count >= 64 * 64 * 4)
        count += row.count;
    }
    return count;
  }
};

TEST_F(PipelineProgram, MovesEachMicrobatchOnce) {
  const struct {
    const char* mesh;
    int64_t stages;
  } cases[] = {{"pipeline=2,data=4", 2}, {"pipeline=4,data=2", 4}};
  for (const auto& [mesh, stages] : cases) {
    SCOPED_TRACE(mesh);
    const CompileReport r = report(mesh);
    const int64_t iterations = kMicrobatches + stages - 1;
    for (const bool backward : {false, true})
      EXPECT_EQ(count_large(r, "collective-permute", backward), iterations) << backward;
    // A device holds the weights of its stage. One all-reduce brings the result of the last stage
    // to all devices.
    EXPECT_EQ(count_of_kind(r, "all-gather"), 0);
    EXPECT_EQ(count_of_kind(r, "all-to-all"), 0);
    EXPECT_EQ(count_large(r, "all-reduce", false), 1);
    EXPECT_TRUE(r.warnings.empty()) << r.warnings[0];
  }
}

TEST_F(PipelineProgram, RoundsMoveWeightsToTheirStagesOnce) {
  const CompileReport r =
      report("pipeline=2,data=4", R"(, model.decoder.layers.schedule: "Circular")");
  const int64_t iterations = 2 * kMicrobatches + 2 - 1;
  for (const bool backward : {false, true})
    EXPECT_EQ(count_large(r, "collective-permute", backward), iterations) << backward;
  for (const CollectiveRow& row : *r.collectives) {
    if (row.kind == "all-to-all") {
      EXPECT_LE(row.count, kShardedWeights + 2) << row.op;
    }
  }
  EXPECT_EQ(count_of_kind(r, "all-gather"), 0);
}

TEST_F(PipelineProgram, FitsIntoOtherParallelism) {
  const CompileReport r = report("pipeline=2,fsdp=2,data=2");
  EXPECT_EQ(count_large(r, "collective-permute", false), kMicrobatches + 1);
  for (const CollectiveRow& row : *r.collectives) {
    if (row.kind == "all-gather" && row.layer.starts_with("model/decoder/layers")) {
      EXPECT_THAT(row.axes, ::testing::ElementsAre("fsdp"))
          << row.layer << ", " << row.op << ": " << row.bytes << " bytes, " << row.count;
    }
  }
}

}  // namespace
}  // namespace axle
