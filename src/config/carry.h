// Carries field values over when one config replaces another: the new config takes the old value of
// each field of the same name and type that it does not set itself.
#pragma once

#include <span>

#include "config/fields/any_config.h"

namespace axle {

/// Names of the fields that were copied, and of the fields of the old config that were not: those
/// without a counterpart, and numbers out of the new range.
struct Carried {
  std::vector<std::string> carried, dropped;
};

/// Returns the first name of a path: "qkv" of "qkv.theta", "sizes" of "sizes[0]".
std::string_view first_name(std::string_view path);

/// Copies the fields of `from` into the fields of `to` that have the same name and type; the ranges
/// of numbers may differ. Skips the fields of `to` that are set: those that differ from their
/// default, and those that `set_fields` names (only the first name of a path such as "qkv.theta"
/// counts). Drops a number that is out of the new range.
///
/// A config may hold others of its own role, as an optimizer around another one does. Fields that
/// `to` lacks go into the config that it holds by default, as "inner.b1"; there, the schedule of
/// another class takes fields of the old one. Fields that `from` lacks come from the config inside
/// of it.
Carried carry_over(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields);

}  // namespace axle
