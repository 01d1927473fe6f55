// Compares the values of every schedule with the reference numbers, for steps 0 to 59.

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "io/file.h"
#include "learn/schedules/schedules.h"
#include "testing/checkout.h"
#include "transform/trace.h"

namespace axle {
namespace {

const std::string kFile = reference_file("axlearn/numeric/schedules/schedules.json");

float value_at(const Schedule& schedule, int32_t step) {
  const auto at = [&](const Values& v) { return Values{schedule(v[0])}; };
  return eval(at, {HostTensor::scalar(step)})[0].values<float>()[0];
}

void agrees(const std::string& name, const Schedule& schedule) {
  const auto expected = YAML::Load(read_file(kFile))[name].as<std::vector<double>>();
  ASSERT_EQ(expected.size(), 60u);
  for (int32_t step = 0; step < 60; ++step) {
    EXPECT_NEAR(value_at(schedule, step), expected[size_t(step)],
                1e-6 * (expected[size_t(step)] + 0.1))
        << name << " at step " << step;
  }
}

TEST(ScheduleParity, CosineWithWarmup) {
  agrees("cosine_warmup_10_50_alpha0.1",
         CosineWithWarmup{.peak = 1.0, .warmup_steps = 10, .max_step = 50, .alpha = 0.1});
}
TEST(ScheduleParity, ConstantWithWarmup) {
  agrees("constant_with_warmup", ConstantWithWarmup{.peak = 2.0, .warmup_steps = 10});
}
TEST(ScheduleParity, Polynomial) {
  agrees(
      "polynomial",
      Polynomial{.begin_step = 5, .begin_value = 1, .end_step = 45, .end_value = 0.2, .power = 2});
}
TEST(ScheduleParity, Exponential) {
  agrees("exponential", Exponential{.begin_value = 1, .end_step = 50, .end_value = 0.01});
}

}  // namespace
}  // namespace axle
