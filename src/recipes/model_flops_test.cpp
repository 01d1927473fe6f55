// Compares the operations that MFU counts with the published formula.
#include "train/program/model_flops.h"

#include <gtest/gtest.h>

#include "data/batch.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "recipes/recipe.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/use_data.h"
#include "train/config/run_modules.h"

namespace axle {
namespace {

struct Case {
  const char* recipe;
  int64_t num_layers, width, seq_len;
  /// Parameters of a table that is only looked up, not multiplied.
  int64_t num_lookups = 0;
};

TEST(ModelFlops, MatchThePublishedFormula) {
  constexpr int64_t kRows = 2;
  for (const Case& c : {Case{"fuji-7B-v2", 32, 4096, 4096},
                        Case{"fuji-70B-v2", 80, 8192, 4096, int64_t{32768} * 8192},
                        Case{"fuji-1B-v3", 16, 2048, 8192}}) {
    Trainer::Config config = recipe(c.recipe);
    UseData{kSyntheticData}.apply_to(config);
    const RunModules training(config);
    int64_t num_parameters = 0;
    for (const auto& [path, spec] : training.model->param_specs())
      num_parameters += spec.type().num_elements();
    const auto formula = static_cast<double>(6 * (num_parameters - c.num_lookups) +
                                             12 * c.num_layers * c.width * c.seq_len);
    const double counted =
        model_flops(training.program_spec({}, batch_spec(kRows, c.seq_len))).count;
    // The formula also counts the weights of norms, which are in no matrix product.
    EXPECT_NEAR(counted / static_cast<double>(kRows * c.seq_len), formula, 1e-4 * formula)
        << c.recipe;
  }
}

// A small model, whose layers are in a loop or one by one.
Trainer::Config small_model(bool is_loop) {
  Trainer::Config config = recipe("quickstart");
  UseData{kSyntheticData}.apply_to(config);
  if (!is_loop) return config;
  Child<Block>& layers = config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers;
  const Stacked::Config stacked = *layers.get_if<Stacked>();
  layers = Repeat::Config{.num_layers = stacked.num_layers, .layer = *stacked.layer};
  return config;
}

// Frozen weights have no gradient: a product with one counts twice, not three times.
TEST(ModelFlops, AdaptersCountWhatAStepNeeds) {
  constexpr int64_t kRows = 2, kSeqLen = 256, kLayers = 4, kWidth = 128;
  const auto count = [&](const RunModules& training) {
    return model_flops(training.program_spec({}, batch_spec(kRows, kSeqLen))).count /
           static_cast<double>(kRows * kSeqLen);
  };
  for (const bool is_loop : {false, true}) {
    Trainer::Config config = small_model(is_loop);
    const double all = count(RunModules(config));
    UseModifier{"Lora: {rank: 4}"}.apply_to(config);
    const RunModules adapted(config);
    const Tree<ParamSpec> specs = adapted.model->param_specs();
    const bool has_head = specs.contains("model/decoder/lm_head/weight");
    double frozen = 0, own = 0;
    for (const auto& [path, spec] : specs) {
      const bool is_table = has_head && path == "model/decoder/emb/weight";  // only looked up
      const auto size = static_cast<double>(spec.type().num_elements());
      if (!is_table) (adapted.learner->trained().contains(path) ? own : frozen) += size;
    }
    const double attention = 12.0 * kLayers * kWidth * kSeqLen;
    // The first layer's input has no gradient; a loop does not distinguish its first layer.
    EXPECT_NEAR(count(adapted), 4 * frozen + 6 * own + attention, 0.05 * all) << is_loop;
    EXPECT_LT(count(adapted), 0.85 * all) << is_loop;
  }
}

// The reference of a policy is computed once, and has no gradient.
TEST(ModelFlops, FrozenModelCountsItsForwardPass) {
  Trainer::Config config = small_model(true);
  const double alone = model_flops(RunModules(config).program_spec({}, batch_spec(2, 64))).count;
  UseModifier{"PreferenceTuning"}.apply_to(config);
  Tree<Type> batch = batch_spec(2, 64);
  batch.emplace("is_pair", Type{DType::kI32, {2}});
  batch.emplace("input_segment_ids", batch.at("input_ids"));
  const double both = model_flops(RunModules(config).program_spec({}, batch)).count;
  EXPECT_NEAR(both / alone, 4.0 / 3, 1e-6);
}

// Parts of a batch make no other model, nor do devices that share its rows.
TEST(ModelFlops, BatchInPartsCountsAsTheBatch) {
  const auto count = [](int64_t device_rows, const Mesh& mesh) {
    Trainer::Config config = recipe("fuji-test-v1");
    UseData{kSyntheticData}.apply_to(config);
    config.learner.get_if<Learner>()->device_rows = device_rows;
    return model_flops(RunModules(config).program_spec(mesh, batch_spec(16, 64))).count;
  };
  EXPECT_GT(count(16, {}), 0);
  EXPECT_EQ(count(2, {}), count(16, {}));
  EXPECT_EQ(count(2, {{{"data", 2}}}), count(16, {}));
}

}  // namespace
}  // namespace axle
