// A step's time is that between completions, whenever they are read.
#include "train/step_clock.h"

#include <gtest/gtest.h>

namespace axle {
namespace {

using std::chrono::milliseconds;

TEST(StepClock, CountsFromCompletionToCompletion) {
  StepClock clock;
  clock.skip();
  const auto start = Clock::now();
  clock.lap(start);
  // Read all at once, as the last steps of a run are.
  for (int i = 1; i <= 3; ++i) EXPECT_NEAR(clock.lap(start + milliseconds(100 * i)), 0.1, 1e-6);
}

TEST(StepClock, NeverDividesByNothing) {
  StepClock clock;
  const auto done = Clock::now() + milliseconds(1);
  clock.lap(done);
  EXPECT_GT(clock.lap(done), 0);
  EXPECT_GT(clock.lap(done - milliseconds(1)), 0);
  EXPECT_NEAR(clock.lap(done + milliseconds(10)), 0.01, 1e-6);  // and has not gone back
}

// An array that is there when the test says so.
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
  clock.add_earlier(100);
  EXPECT_GE(clock.wall_secs(), 100);
  EXPECT_LT(clock.secs_since_start(), 100);
}

}  // namespace
}  // namespace axle
