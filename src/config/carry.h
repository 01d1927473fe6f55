// What survives when a config takes the place of another: fields of the same name and type that the
// new one leaves open.
#pragma once

#include <span>

#include "config/fields/any_config.h"

namespace axle {

/// Names of the fields that went over, and of those of the old config that the new one has no place
/// for.
struct Carried {
  std::vector<std::string> carried, dropped;
};

/// "qkv.theta" and "sizes[0]" -> "qkv" and "sizes".
std::string_view first_name(std::string_view path);

/// Copies fields of `from` into `to` where name and type agree, whatever the ranges of numbers, and
/// the field of `to` is not set: it has its default and is not named in `set_fields` (of a path
/// such as "qkv.theta" the first name counts). A number that is out of the new range is dropped.
Carried carry_over(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields);

}  // namespace axle
