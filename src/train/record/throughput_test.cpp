// The time of a step is the time between completions, whenever they are read.
#include <gtest/gtest.h>

#include "train/record/metrics.h"

namespace axle {
namespace {

using std::chrono::milliseconds;

TEST(StepClock, CountsFromCompletionToCompletion) {
  StepClock clock;
  clock.skip();
  const auto start = Clock::now();
  clock.lap(start, 8);
  // All completions are read at once, like those of the last steps of a run.
  for (int i = 1; i <= 3; ++i) {
    const Lap lap = clock.lap(start + milliseconds(200 * i), 8);
    EXPECT_NEAR(lap.secs, 0.2, 1e-6);
    EXPECT_EQ(lap.num_steps, 1);
    EXPECT_EQ(lap.num_tokens, 8);
  }
}

// Steps of 1 ms. One completion is seen 8 ms late, together with those of the next eight steps.
TEST(StepClock, ALateCompletionMakesNoStepFast) {
  StepClock clock;
  clock.skip();
  const auto start = Clock::now();
  for (int i = 1; i <= 300; ++i) {
    const bool late = i >= 200 && i < 208;
    const Lap lap = clock.lap(start + milliseconds(late ? 208 : i), 4);
    if (i <= 100) continue;
    EXPECT_NEAR(static_cast<double>(lap.num_steps) / lap.secs, 1000, 100) << i;
    EXPECT_EQ(lap.num_tokens, 4 * lap.num_steps);
  }
}

TEST(StepClock, TheClockRestartsBehindASkip) {
  StepClock clock;
  clock.lap(Clock::now(), 1);
  clock.skip();
  EXPECT_EQ(clock.lap(Clock::now() + milliseconds(1), 1).num_steps, 1);
}

TEST(StepClock, NeverDividesByNothing) {
  StepClock clock;
  clock.skip();
  EXPECT_GT(clock.lap(Clock::now() - milliseconds(100), 1).secs, 0);
}

// An array whose values become available when the test says so.
class LateArray final : public Array {
 public:
  explicit LateArray(std::shared_future<void> there)
      : Array({DType::kF32, {}}, {}), there_(std::move(there)) {}
  HostTensor to_host() const override { return HostTensor::scalar(0.f); }
  void wait() const override { there_.wait(); }

 private:
  std::shared_future<void> there_;
};

TEST(StepClock, CompletionIsSeenWithoutAReader) {
  std::promise<void> there;
  auto done = completion_of(std::make_shared<LateArray>(there.get_future().share()));
  const auto before = Clock::now();
  there.set_value();
  done.wait();
  const auto after = Clock::now();
  const auto at = done.get();
  EXPECT_LE(before, at);
  EXPECT_LE(at, after);
}

TEST(StepClock, EarlierStartsCount) {
  StepClock clock;
  EXPECT_LT(clock.wall_secs(), 100);
  clock.add_earlier(100);
  EXPECT_GE(clock.wall_secs(), 100);
}

}  // namespace
}  // namespace axle
