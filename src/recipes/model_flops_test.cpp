// Compares the operations that MFU counts with the published formula.
#include "train/record/model_flops.h"

#include <gtest/gtest.h>

#include "data/batch.h"
#include "recipes/recipe.h"
#include "recipes/resolve/use_data.h"
#include "train/training_parts.h"

namespace axle {
namespace {

struct Case {
  const char* recipe;
  int64_t num_layers, width, seq_len;
  /// Parameters of a table that is only looked up, not multiplied.
  int64_t num_lookups = 0;
};

TEST(ModelFlops, AreThoseOfThePublishedFormula) {
  constexpr int64_t kRows = 2;
  for (const Case& c : {Case{"fuji-7B-v2", 32, 4096, 4096},
                        Case{"fuji-70B-v2", 80, 8192, 4096, int64_t{32768} * 8192},
                        Case{"fuji-1B-v3", 16, 2048, 8192}}) {
    Trainer::Config config = recipe(c.recipe);
    UseData{kSyntheticData}.apply_to(config);
    const TrainingParts training(config);
    int64_t num_parameters = 0;
    for (const auto& [path, spec] : training.model->param_specs())
      num_parameters += spec.type().num_elements();
    const auto formula = static_cast<double>(6 * (num_parameters - c.num_lookups) +
                                             12 * c.num_layers * c.width * c.seq_len);
    const double counted =
        model_flops(training.program_parts({}, batch_spec(kRows, c.seq_len))).count;
    // The formula also counts the weights of norms, which are in no matrix product.
    EXPECT_NEAR(counted / static_cast<double>(kRows * c.seq_len), formula, 1e-4 * formula)
        << c.recipe;
  }
}

// Parts of a batch make no other model, nor do devices that share its rows.
TEST(ModelFlops, OfABatchInPartsAreThoseOfTheBatch) {
  const auto count = [](int64_t device_rows, const Mesh& mesh) {
    Trainer::Config config = recipe("fuji-test-v1");
    UseData{kSyntheticData}.apply_to(config);
    config.learner.get_if<Learner>()->device_rows = device_rows;
    return model_flops(TrainingParts(config).program_parts(mesh, batch_spec(16, 64))).count;
  };
  EXPECT_GT(count(16, {}), 0);
  EXPECT_EQ(count(2, {}), count(16, {}));
  EXPECT_EQ(count(2, {{{"data", 2}}}), count(16, {}));
}

}  // namespace
}  // namespace axle
