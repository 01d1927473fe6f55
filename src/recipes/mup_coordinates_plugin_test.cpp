// MuP keeps the size of activations and updates, also where the table of embeddings is the head.
#include "layers/models/causal_lm.h"
#include "layers/models/lm_head.h"
#include "recipes/mup_coordinates_test.h"
#include "testing/test_name.h"

namespace axle {
namespace {

class RecipeCoordinates : public MuPCoordinates,
                          public ::testing::WithParamInterface<std::string> {};

TEST_P(RecipeCoordinates, KeepTheirSize) {
  const Coordinates base = coordinates(prepared(GetParam(), 1), 1);
  expect_same_size(coordinates(prepared(GetParam(), 4), 1), base, 2.5);
}

INSTANTIATE_TEST_SUITE_P(Families, RecipeCoordinates,
                         ::testing::Values("quickstart", "fuji-test-v3", "gala-test",
                                           "honeycrisp-test", "envy-test-bytes", "qwen3-test",
                                           "gemma3-test", "mixtral-test", "deepseek-v3-test",
                                           "mamba2-test"),
                         kNamedByText);

// Without MuP the check fails: it can tell.
TEST_F(MuPCoordinates, GrowWithoutMuP) {
  Trainer::Config wide = prepared("quickstart", 1);
  const Coordinates base = coordinates(wide, 1);
  widen(wide, 4);
  const Coordinates grown = coordinates(wide, 1);
  EXPECT_GT(grown.change_of_logits, 2.5 * base.change_of_logits);
}

// A table that is the head too learns as a head of its own does: wider models are no worse.
TEST_F(MuPCoordinates, TiedHeadsLearnAtTheRateOfTheBase) {
  const auto mean_loss = [&](int64_t factor, bool tied) {
    double sum = 0;
    for (const int64_t seed : {1, 2, 3}) {
      Trainer::Config config = recipe("quickstart");
      config.learner =
          Learner::Config{.optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 0.01}}};
      auto& decoder = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
      decoder.model_dim = 64;
      if (!tied) decoder.lm_head = LmHead::Config{};
      if (factor > 1) {
        const auto base = widen(config, factor);
        apply_modifier(MuP::Config{.base = base}, "mup", config);
      }
      sum += coordinates(config, seed, 6).last_loss / 3;
    }
    return sum;
  };
  for (const bool tied : {true, false})
    EXPECT_LE(mean_loss(4, tied), mean_loss(1, tied) + 0.1) << (tied ? "tied" : "untied");
}

}  // namespace
}  // namespace axle
