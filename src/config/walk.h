// The one traversal of config trees. All generic code is built on it.
#pragma once

#include <functional>

#include "config/config_ref.h"

namespace axle {

/// Joins a path and a name: "a" and "b" -> "a.b"; "a" and "[0]" -> "a[0]".
std::string join_config_path(std::string_view parent, std::string_view name);

/// Returns the slot inside any optionals and Requireds. Stops at an empty one and returns its slot.
Slot unwrap(Slot slot);
/// Returns the slots directly below a slot: fields, elements, and the options ("@dtype") of a Child
/// that is not empty.
std::vector<Slot> children_of(const Slot& slot);
/// Returns the config held by a Child or Fn slot, even inside an optional; null if the slot is of
/// another kind or holds none.
AnyConfig* held_config(const Slot& slot);

/// Puts a config into a Child or Fn slot, even inside an optional. Throws ConfigError if the role
/// or signature differs.
void put_config(const Slot& slot, AnyConfig config);
/// Throws ConfigError if `key` is not valid in the map: if it is empty, holds control characters or
/// "']" (the end of a key in paths), or breaks the rule of the map's type.
void check_map_key(const TypeOps& map, std::string_view key, const std::string& path);
/// Throws ConfigError "path.name: no such field; did you mean 'layers'? (fields: a, b)". `what` is
/// "field", "option" or "key".
[[noreturn]] void fail_no_slot(const std::string& path, std::string_view name,
                               const std::vector<std::string>& names, std::string_view what);

using Visit = std::function<void(const std::string& path, const Slot& slot)>;
/// Visits all slots depth first, in order of declaration, from the root (whose path is
/// `root_name`). Calls `enter` before a slot's children and `leave` after them. A visitor may
/// change the slot that it gets: children put there by `enter` are walked, those put there by
/// `leave` are not.
void walk(const ConfigView& root, const Visit& enter, const Visit& leave = {},
          std::string_view root_name = {});

/// Calls fn(path, Module::Config&) for every config of exactly this type, including the root.
template <class Module, class F>
void for_each_config(ConfigRef root, F fn) {
  const std::type_info& wanted = typeid(typename Module::Config);
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (AnyConfig* held = held_config(slot)) {
      if (auto* config = held->template get_if<typename Module::Config>()) fn(path, *config);
    } else if (slot.ops->kind == FieldKind::kStruct && *slot.ops->type == wanted) {
      fn(path, *static_cast<typename Module::Config*>(slot.at));
    }
  });
}

}  // namespace axle
