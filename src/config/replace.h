// Rewrites of whole config trees: puts another class in the place of every match, or wraps what is
// there.
#pragma once

#include <functional>

#include "config/config_ref.h"
#include "config/register.h"

namespace axle {

/// Which Child and Fn slots of a tree are meant.
struct Selector {
  const std::type_info* type = nullptr;  // of a module class, functor or role
  bool derived = false;                  // classes that inherit from it as well
  std::string at = "**";                 // pattern of paths, see glob_match
  std::function<bool(const std::string& path, const AnyConfig& config)> where = {};
};

/// By the name of a class ("RMSNorm", "Norm.RMSNorm") or of a role ("Norm": all its classes).
/// Throws ConfigError.
Selector select_by_name(std::string_view name);

struct ReplaceSpec {
  Selector select;
  AnyConfig with;
  /// Fields of `with` that count as set though they have their default; others count as set if they
  /// differ from it.
  std::vector<std::string> keep = {};
  /// Name of the slot of `with` that takes the old config, which is then not carried over; ""
  /// replaces.
  std::string wrap = {};
  bool allow_none = false;
};

/// What was done, as paths.
struct ReplaceReport {
  std::vector<std::string> matched, carried, dropped;
};

/// A replacement by name: "RMSNorm -> LayerNorm", and what it did.
struct Replaced {
  std::string what;
  ReplaceReport report;
};

/// Visits every slot after its children, so that a replacement may contain its target; each match
/// gets its own clone of `with`, fields of the same name and type that are not set in it keep the
/// old value, slot options stay. Throws ConfigError if nothing matched (unless allowed), if `keep`
/// or `wrap` names no field, or if the class does not fit into a matched slot.
ReplaceReport replace_config(ConfigRef root, const ReplaceSpec& spec);

/// The choices of a replacement in C++; see Selector and ReplaceSpec.
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
/// Name of the field at this offset.
std::string field_at(const ConfigType& type, size_t offset);
}  // namespace detail

/// Replaces every `Target` (a class; or a role: every class of it).
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
