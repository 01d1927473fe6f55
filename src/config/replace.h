// Rewrites whole config trees: selects configs by class, path and predicate; replaces the class in
// every slot that is selected, or wraps it in another class.
#pragma once

#include "base/error.h"
#include "config/carry.h"
#include "config/walk.h"

namespace axle {

/// Selects Child and Fn slots of a tree by the class that they hold, and structs by their own.
struct Selector {
  const std::type_info* type = nullptr;  // a module class, functor, role or struct
  bool derived = false;                  // true: also matches classes that inherit from it
  std::string at = "**";                 // pattern of paths (glob_match)
  std::function<bool(const std::string& path, const AnyConfig& config)> where = {};
};

/// Selects a class ("RMSNorm", "Norm.RMSNorm"), all classes of a role ("Norm"), or a struct
/// ("Evaler"). Throws ConfigError if the name is unknown or ambiguous.
Selector select_by_name(std::string_view name);

/// The tree holds nothing that a rewrite looks for. Who asked for the rewrite may allow that.
struct NoMatch : ConfigError {
  using ConfigError::ConfigError;
};

/// Calls fn(path, slot) for every slot or struct that is selected, after those inside it. Returns
/// how many there are. Puts the path in front of a ConfigError that fn throws.
int64_t for_each_match(ConfigRef root, const Selector& select, const Visit& fn);
/// Throws NoMatch, with the nearest names or paths of the tree.
[[noreturn]] void fail_no_match(const Slot& root, const Selector& select);

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

/// A slot that a rewrite selected but could not change, and why.
struct SkippedSlot {
  std::string path, why;
};

/// What a rewrite did, by the paths of slots. A slot is in at most one of the first three lists.
struct RewriteReport {
  std::vector<std::string> matched = {};    // rewritten
  std::vector<std::string> unchanged = {};  // selected, and as wanted before
  std::vector<SkippedSlot> skipped = {};
  std::vector<std::string> carried = {}, dropped = {};  // fields of the old config

  /// Adds what went over from the old config of the slot at `path`.
  void add(const std::string& path, const Carried& fields);
};

/// A rewrite ("RMSNorm -> LayerNorm") and its report.
struct Rewrite {
  std::string what;
  RewriteReport report;
  /// Throws ConfigError if the rest of the tree has changed since, so that what the rewrite set
  /// does not suit it. Empty: it suits any.
  std::function<void(ConfigRef root)> check = {};
};

/// Replaces the config in every matching slot and returns what changed. Visits a slot after its
/// children, so that a replacement may contain its target. Each match gets its own clone of `with`.
/// Fields of the clone that are not set take the old value of the field of the same name and type.
/// Slot options stay. Throws NoMatch if nothing matched (unless allow_none). Throws ConfigError if
/// `keep` or `wrap` names no field, or if the class does not fit into a matched slot.
RewriteReport replace_config(ConfigRef root, const ReplaceSpec& spec);

/// Options of replace_config<Target> and wrap<Target>; see Selector and ReplaceSpec for the fields.
struct ReplaceOptions {
  std::vector<std::string> keep = {};
  std::string at = "**";
  std::function<bool(const std::string& path, const AnyConfig& config)> where = {};
  bool derived = false;
  bool allow_none = false;
};

namespace detail {
/// Returns the name of the field at this offset.
std::string field_at(const ConfigType& type, size_t offset);

template <class Target, Configures C>
ReplaceSpec replace_spec(C with, const ReplaceOptions& options) {
  constexpr bool is_role = Implements<Target, Target>;
  return {.select = {.type = &typeid(Target),
                     .derived = options.derived || is_role,
                     .at = options.at,
                     .where = options.where},
          .with = AnyConfig::of(std::move(with)),
          .keep = options.keep,
          .allow_none = options.allow_none};
}
}  // namespace detail

/// Replaces every `Target`: a class, or a role, which means every class of it.
template <class Target, Configures C>
RewriteReport replace_config(ConfigRef root, C with, const ReplaceOptions& options = {}) {
  return replace_config(root, detail::replace_spec<Target>(std::move(with), options));
}

/// Puts the old config of every `Target` into the slot `inner` of a clone of `outer`.
template <class Target, Configures C, class T>
RewriteReport wrap(ConfigRef root, C outer, T C::*inner, const ReplaceOptions& options = {}) {
  const auto offset =
      reinterpret_cast<const char*>(&(outer.*inner)) - reinterpret_cast<const char*>(&outer);
  ReplaceSpec spec = detail::replace_spec<Target>(std::move(outer), options);
  spec.wrap = detail::field_at(C::config_type(), static_cast<size_t>(offset));
  return replace_config(root, spec);
}

}  // namespace axle
