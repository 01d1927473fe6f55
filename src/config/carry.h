// What survives when a config takes the place of another: fields of the same name and type that the
// new one leaves open.
#pragma once

#include <span>

#include "config/any_config.h"

namespace axle {

/// Names of the fields that went over, and of those of the old config that the new one has no place
/// for.
struct Carried {
  std::vector<std::string> carried, dropped;
};

/// Copies fields of `from` into `to` where name and type agree and the field of `to` is not set: it
/// has its default and is not named in `set_fields` (of a path such as "qkv.theta" the first name
/// counts).
Carried carry_over(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields);

}  // namespace axle
