// One traversal of config trees; everything generic is built on it.
#pragma once

#include <functional>

#include "config/config_ref.h"

namespace axle {

/// "a" and "b" -> "a.b"; "a" and "[0]" -> "a[0]".
std::string join_config_path(std::string_view parent, std::string_view name);

/// The slot inside any optionals and Requireds; an empty one ends the way and is returned itself.
Slot peel(Slot slot);
/// What stands directly below a slot: fields, elements, and the options ("@dtype") of a Child that
/// holds something.
std::vector<Slot> children_of(const Slot& slot);
/// The config held by a Child or Fn slot, also inside an optional; null for other slots and where
/// nothing is held.
AnyConfig* held_config(const Slot& slot);

/// Puts a config into a Child or Fn slot, also inside an optional. Throws ConfigError if role or
/// signature differ.
void put_config(const Slot& slot, AnyConfig config);
/// Throws ConfigError where `key` may not stand in the map: it is empty, holds control characters
/// or
/// "']", which ends a key in paths, or breaks the rule of the map's type.
void check_map_key(const TypeOps& map, std::string_view key, const std::string& path);
/// "path.name: no such field; did you mean 'layers'? (fields: a, b)". `what` is "field", "option"
/// or "key".
[[noreturn]] void fail_no_slot(const std::string& path, std::string_view name,
                               const std::vector<std::string>& names, std::string_view what);

using Visit = std::function<void(const std::string& path, const Slot& slot)>;
/// Depth first from the root (path `root_name`) in the order of declaration; `enter` before a
/// slot's children, `leave` after. A visitor may change the slot that it is given: on entering, its
/// new children are walked; on leaving, not.
void walk(const ConfigView& root, const Visit& enter, const Visit& leave = {},
          std::string_view root_name = {});

/// Calls fn(path, Module::Config&) for every config of exactly this type, the root's included.
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
