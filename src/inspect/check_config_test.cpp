// What stands in for the data where a config is checked.
#include "inspect/check_config.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "data/chat/chat_input.h"
#include "modifiers/preference_tuning.h"
#include "recipes/recipe.h"
#include "testing/error_of.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

TEST(CheckConfig, ProgramsForPairsAreTracedWithoutTheirFiles) {
  Trainer::Config config = recipe("fuji-test-v1");
  apply_modifier(PreferenceTuning::Config{}, "modify", config);
  const PreferenceInput::Config pairs{
      .source = ChatSource::Config{.path = "not_read.jsonl"}, .seq_len = 32, .batch_size = 2};
  config.input = pairs;
  config.max_steps = 2;
  config.evalers.clear();
  config.evalers["pairs"].input = pairs;
  config.evalers["pairs"].input.get_if<PreferenceInput>()->epochs = 1;
  // The files are not there; the programs are traced all the same.
  const std::string text = error_of([&] { config_problems(config).throw_any(); });
  EXPECT_THAT(text, ::testing::HasSubstr("not_read.jsonl"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("is_pair")));
}

}  // namespace
}  // namespace axle
