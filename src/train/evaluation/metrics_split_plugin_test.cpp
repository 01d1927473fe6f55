// Tests that a step reports the same means on one device and on several.
#include "testing/plugin_fixture.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

class MetricsOverDevices : public PluginTest {
 protected:
  MetricsOverDevices() : PluginTest(8) {}
};

TEST_F(MetricsOverDevices, AreThoseOfOneDevice) {
  SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 1}, Scope{});
  Tree<HostTensor> batch = input.next()->tensors;
  // Rows of 16, 14, ... targets, so that devices have unequally many.
  const auto labels = batch.at("target_labels").values<int32_t>();
  for (int64_t row = 0; row < 8; ++row)
    std::fill_n(labels.begin() + (row + 1) * 16 - 2 * row, 2 * row, -1);
  Tree<HostTensor> start;
  const auto step_on = [&](const char* mesh_text) {
    Mesh mesh;
    if (*mesh_text) from_text(mesh_text, mesh);
    StepRun run(*runtime_, {.model = tiny_model(tiny_loop()),
                            .learner = tiny_learner(),
                            .batch = batch_spec(8, 16),
                            .mesh = mesh});
    if (start.empty()) start = run.initial_state(3);
    run.set_state(start);
    return run.step(batch);
  };
  const Tree<double> expected = step_on("");
  EXPECT_EQ(expected.at("num_targets"), 72);
  EXPECT_GT(expected.at("accuracy"), 0);
  for (const char* mesh : {"data=8", "data=2,fsdp=4", "fsdp=2,model=4"}) {
    const Tree<double> metrics = step_on(mesh);
    EXPECT_NEAR(metrics.at("accuracy"), expected.at("accuracy"), 1e-6) << mesh;
    EXPECT_NEAR(metrics.at("cross_entropy"), expected.at("cross_entropy"), 1e-5) << mesh;
    EXPECT_EQ(metrics.at("num_targets"), 72) << mesh;
  }
}

}  // namespace
}  // namespace axle
