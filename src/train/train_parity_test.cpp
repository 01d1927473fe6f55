// Recorded training steps, on the interpreter.
#include <filesystem>

#include "train/train_fixture_test.h"

namespace axle {
namespace {

TEST(TrainParity, OnTheInterpreter) {
  if (!std::filesystem::exists(kTrainFixture))
    GTEST_SKIP() << "no ../shared/reference beside the source";
  const auto runtime = make_runtime({.backend = "interpreter"});
  expect_recorded_steps(*runtime);
}

}  // namespace
}  // namespace axle
