#include "train/modifiers/gradient_accumulation.h"

#include "config/register.h"
#include "modifiers/field_modifiers.h"

namespace axle {

std::vector<Rewrite> GradientAccumulation::apply(ConfigRef root) const {
  const Selector learners{.type = &typeid(Learner), .derived = true};
  return {
      {"GradientAccumulation", set_field(root, learners, "microbatches", cfg_.microbatches.get())}};
}

AXLE_REGISTER(GradientAccumulation)

}  // namespace axle
