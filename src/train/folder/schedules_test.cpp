#include "train/folder/schedules.h"

#include <gmock/gmock.h>

#include "config/serialize.h"
#include "learn/schedules/schedules.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Constant up to the step before `decay_begin_step`, then linear to 0 at the end of the run.
Trainer::Config decaying(int64_t steps, int64_t begin, std::optional<int64_t> end = {}) {
  Trainer::Config out = tiny_config();
  WarmupStableDecay rate{.peak = 1e-3, .warmup_steps = 0, .decay_begin_step = begin};
  if (end) rate.max_step = Positive<int64_t>(*end);
  out.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate = rate;
  out.max_steps = steps;
  return out;
}
std::vector<std::string> jumps(const Trainer::Config& saved, const Trainer::Config& now,
                               int64_t step) {
  return schedule_jumps(to_yaml(saved), now, step);
}

TEST(ScheduleJumps, TheFirstStepThatDiffersIsNamedHoweverFarItIs) {
  const std::string longer =
      "the run has 9 steps now, not 6; --schedule keep lets it go on from where it stands";
  EXPECT_THAT(jumps(decaying(6, 5), decaying(9, 5), 3),
              ElementsAre("learner.optimizer.learning_rate: 0.00075 at step 6, where it was to be "
                          "0: " +
                          longer));
  EXPECT_THAT(jumps(decaying(6, 5), decaying(9, 5), 5),
              ElementsAre("learner.optimizer.learning_rate: 0.001 at step 5, then 0.00075 at step "
                          "6, where it was to be 0: " +
                          longer));
  // A run of many steps, too.
  EXPECT_THAT(jumps(decaying(1'000'000, 900'000), decaying(2'000'000, 900'000), 3),
              ElementsAre(::testing::HasSubstr(" at step 90000")));
}

TEST(ScheduleJumps, AShorterRunIsComparedUpToItsEnd) {
  EXPECT_THAT(jumps(decaying(9, 5), decaying(6, 5), 3),
              ElementsAre("learner.optimizer.learning_rate: 0 at step 6, where it was to be "
                          "0.00075: the run has 6 steps now, not 9; --schedule keep lets it go on "
                          "from where it stands"));
  EXPECT_THAT(jumps(decaying(9, 5), decaying(5, 5), 3), IsEmpty()) << "it differs after its end";
}

TEST(ScheduleJumps, AChangeOfTheConfigIsNoMatterOfTheLength) {
  EXPECT_THAT(jumps(decaying(9, 5, 9), decaying(9, 7, 9), 3),
              ElementsAre("learner.optimizer.learning_rate: 0.001 at step 6, where it was to be "
                          "0.00075: the config has changed"));
}

TEST(ScheduleJumps, SchedulesThatGoOnAsBeforeAreNotNamed) {
  EXPECT_THAT(jumps(decaying(6, 5), decaying(6, 5), 3), IsEmpty());
  EXPECT_THAT(jumps(decaying(6, 5, 6), decaying(9, 5, 6), 3), IsEmpty()) << "its end is fixed";
  EXPECT_THAT(jumps(tiny_config(), tiny_config(), 3), IsEmpty());
}

}  // namespace
}  // namespace axle
