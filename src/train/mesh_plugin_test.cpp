// Tests the share of a training step that each of eight virtual devices holds, and the random bits
// that it draws.
#include <gtest/gtest.h>

#include "lower/stablehlo.h"
#include "testing/plugin_fixture.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"
#include "transform/trace.h"

namespace axle {
namespace {

const Mesh kOne;
const Mesh kData{{{"data", 8}}}, kFsdp{{{"fsdp", 8}}},
    kCube{{{"data", 2}, {"fsdp", 2}, {"model", 2}}};

// Returns the bytes of one device's shard, by the mesh axes of each dim.
int64_t local_bytes(const ProgramValue& value, const Mesh& mesh) {
  int64_t parts = 1;
  for (const DimAxes& dim : value.sharding.dims) {
    for (const std::string& axis : dim) parts *= mesh.size(axis);
  }
  return static_cast<int64_t>(value.type.num_bytes()) / parts;
}

class MeshTraining : public PluginTest {
 protected:
  MeshTraining() : PluginTest(8) {}
};

TEST_F(MeshTraining, EachDeviceHoldsItsPartOfStateAndBatch) {
  for (const Mesh& mesh : {kData, kFsdp, kCube}) {
    const StepRun run(*runtime_, {.model = tiny_model(tiny_loop(0.2)),
                                  .learner = tiny_learner(),
                                  .batch = batch_spec(8, 16),
                                  .mesh = mesh});
    int64_t part = 0, whole = 0;
    for (const ProgramValue& input : run.program().inputs) {
      part += local_bytes(input, mesh);
      whole += local_bytes(input, kOne);
    }
    EXPECT_EQ(run.executable().memory()->argument_bytes, part) << to_text(mesh);
    // The embedding, norms and small leaves are replicated on all devices.
    if (mesh == kFsdp) {
      EXPECT_LT(part, whole / 3);
    }
  }
}

TEST_F(MeshTraining, RandomBitsDoNotDependOnTheMesh) {
  const auto masks = [&](const Mesh& mesh) {
    const Type type{DType::kPred, {8, 24, 16}};
    auto graph = trace(
        [&](const Values& x) {
          return Values{random::bernoulli(random::Key::wrap(x[0]), type.dims, 0.3)};
        },
        {{DType::kU32, {2}}});
    const Program program = lower(std::move(graph), "mask", {{"key", {DType::kU32, {2}}}},
                                  {{"mask", type, {{{"data", "fsdp"}, {}, {"model"}}}}}, mesh);
    const ArrayPtr key = runtime_->make_array(random::key_words(4), {}, mesh);
    return runtime_->compile(program)->execute({&key, 1})[0]->to_host();
  };
  const HostTensor expected = masks(kOne);
  for (const Mesh& mesh : {kData, kFsdp, kCube}) EXPECT_EQ(masks(mesh), expected) << to_text(mesh);
}

}  // namespace
}  // namespace axle
