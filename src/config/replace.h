// Rewrites whole config trees: replaces the class in every matching slot, or wraps it in another
// class.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "config/config_ref.h"
#include "config/fields/child.h"

namespace axle {

/// Selects Child and Fn slots of a tree by the class that they hold.
struct Selector {
  const std::type_info* type = nullptr;  // a module class, functor or role
  bool derived = false;                  // true: also matches classes that inherit from it
  std::string at = "**";                 // pattern of paths (glob_match)
  std::function<bool(const std::string& path, const AnyConfig& config)> where = {};
};

/// Selects a class ("RMSNorm", "Norm.RMSNorm"), or all classes of a role ("Norm"). Throws
/// ConfigError if the name is unknown or ambiguous.
Selector select_by_name(std::string_view name);

struct ReplaceSpec {
  Selector select;
  AnyConfig with;
  /// Fields of `with` that count as set even with their default value. Other fields count as set if
  /// they differ from their default.
  std::vector<std::string> keep = {};
  /// Name of the slot of `with` that takes the old config; nothing is carried over then. ""
  /// replaces the old config.
  std::string wrap = {};
  bool allow_none = false;
};

/// The paths of the matched slots, of the fields carried over and of the fields dropped.
struct ReplaceReport {
  std::vector<std::string> matched, carried, dropped;
};

/// A replacement ("RMSNorm -> LayerNorm") and its report.
struct Replaced {
  std::string what;
  ReplaceReport report;
};

/// Replaces the config in every matching slot and returns what changed. Visits a slot after its
/// children, so that a replacement may contain its target. Each match gets its own clone of `with`.
/// Fields of the clone that are not set take the old value of the field of the same name and type.
/// Slot options stay. Throws ConfigError if nothing matched (unless allow_none), if `keep` or
/// `wrap` names no field, or if the class does not fit into a matched slot.
ReplaceReport replace_config(ConfigRef root, const ReplaceSpec& spec);

/// Options of replace_config<Target> and wrap<Target>; see Selector and ReplaceSpec for the fields.
struct ReplaceOptions {
  std::vector<std::string> keep = {};
  std::string at = "**";
  std::function<bool(const std::string& path, const AnyConfig& config)> where = {};
  bool derived = false;
  bool allow_none = false;
};

namespace detail {
template <class Target>
Selector selector_of(const ReplaceOptions& options) {
  constexpr bool is_role = std::is_same_v<typename RoleOf<Target>::type, Target>;
  return {.type = &typeid(Target),
          .derived = options.derived || is_role,
          .at = options.at,
          .where = options.where};
}
/// Returns the name of the field at this offset.
std::string field_at(const ConfigType& type, size_t offset);
}  // namespace detail

/// Replaces every `Target`: a class, or a role, which means every class of it.
template <class Target, Configures C>
ReplaceReport replace_config(ConfigRef root, C with, const ReplaceOptions& options = {}) {
  return replace_config(root, ReplaceSpec{.select = detail::selector_of<Target>(options),
                                          .with = AnyConfig::of(std::move(with)),
                                          .keep = options.keep,
                                          .allow_none = options.allow_none});
}

/// Puts the old config of every `Target` into the slot `inner` of a clone of `outer`.
template <class Target, Configures C, class T>
ReplaceReport wrap(ConfigRef root, C outer, T C::*inner, const ReplaceOptions& options = {}) {
  const auto offset =
      reinterpret_cast<const char*>(&(outer.*inner)) - reinterpret_cast<const char*>(&outer);
  std::string slot = detail::field_at(C::config_type(), static_cast<size_t>(offset));
  return replace_config(root, ReplaceSpec{.select = detail::selector_of<Target>(options),
                                          .with = AnyConfig::of(std::move(outer)),
                                          .wrap = std::move(slot),
                                          .allow_none = options.allow_none});
}

}  // namespace axle
