#include "train/modifiers/set_ema.h"

#include "config/register.h"
#include "modifiers/field_modifiers.h"

namespace axle {

std::vector<Rewrite> SetEma::apply(ConfigRef root) const {
  const Selector learners{.type = &typeid(Learner), .derived = true};
  return {{"SetEma", set_field(root, learners, "ema", cfg_.ema)}};
}

AXLE_REGISTER(SetEma)

}  // namespace axle
