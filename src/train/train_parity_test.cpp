// Compares training steps on the interpreter with recorded ones.

#include "pjrt/pjrt_runtime.h"
#include "train/train_fixture_test.h"

namespace axle {
namespace {

TEST(TrainParity, OnTheInterpreter) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  expect_recorded_steps(*runtime);
}

}  // namespace
}  // namespace axle
