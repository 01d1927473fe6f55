// Carries field values over when one config replaces another: the new config takes the old value of
// each field of the same name and type that it does not set itself.
#pragma once

#include "config/config_type.h"

namespace axle {

/// What fields of the same name do not say: how classes take the place of others of their role. A
/// constant of this type registers itself and must live as long as the program.
struct CarryRule {
  /// A class, or a role: the rule of its classes that have none. A class has its own rule alone.
  const std::type_info& owner;
  /// The field that holds another config of the role; empty: none. In place of an old config, the
  /// class goes around it: it takes the old config there, and no other field. What takes the place
  /// of the class takes its fields from the config in there.
  std::string_view around = {};
  /// Changes the copy of an old config that a config of the class `next` takes its fields from, or
  /// that it goes around; null: it stays as it is.
  void (*adapt)(const AnyConfig& old, const ConfigType& next) = nullptr;

  CarryRule(const std::type_info& rule_owner, std::string_view around_field,
            void (*adapt_old)(const AnyConfig& old, const ConfigType& next));
  CarryRule(const CarryRule&) = delete;
};

/// Names of the fields that were copied, and of the fields of the old config that were not: those
/// without a counterpart, and numbers out of the new range.
struct Carried {
  std::vector<std::string> carried, dropped;
};

/// Copies the fields of `from` into the fields of `to` that have the same name and type. Ranges of
/// numbers, `optional` and `Required` do not count for the type; a field that is not set leaves the
/// default of one of another kind. Skips the fields of `to` that are set: those that differ from
/// their default, and those that `set_fields` names (only the first name of a path such as
/// "qkv.theta" counts). Drops a number that is out of the new range.
///
/// A config may hold others of its own role, as an optimizer around another one does. Fields that
/// `to` lacks go into the config that it holds by default, as "inner.b1"; there, the schedule of
/// another class takes fields of the old one. Fields that `from` lacks come from the config inside
/// of it. Rules (CarryRule) come before all that.
Carried carry_over(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields);

}  // namespace axle
