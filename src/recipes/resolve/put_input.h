// One input in the place of another.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/carry.h"
#include "config/fields/child.h"
#include "data/input.h"

namespace axle {

/// Puts an input of this config in the place of `input`. It takes over the fields that both have,
/// except for its `own`.
template <class Config>
void put_input(Child<Input>& input, Config config, const std::vector<std::string>& own) {
  AnyConfig fresh = AnyConfig::of(std::move(config));
  if (input) carry_over(input.any(), fresh, own);
  input.put(std::move(fresh));
}

}  // namespace axle
