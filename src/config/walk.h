// The one traversal of config trees, and their fields by path. All generic code is built on it.
#pragma once

#include <functional>

#include "config/register.h"

namespace axle {

template <class Role>
Slot::Slot(const Child<Role>& root)
    : Slot({}, const_cast<Child<Role>*>(&root), &kOps<Child<Role>>) {}

/// A config tree that may be changed. A root Child may be replaced as a whole.
struct ConfigRef : Slot {
  template <Configures C>
  requires(!std::is_const_v<C>) ConfigRef(C& config) : Slot(config) {}
  template <class Role>
  ConfigRef(Child<Role>& root) : Slot(root) {}
  ConfigRef(AnyConfig& config) : Slot(config) {}
  /// A subtree, as walk() and find_slot() return it.
  explicit ConfigRef(const Slot& slot) : Slot(slot) {}
};

/// Joins a path and a name: "a" and "b" -> "a.b"; "a" and "[0]" -> "a[0]".
std::string join_config_path(std::string_view parent, std::string_view name);
/// Splits a path into names as Slots have them: "a.m['k.e'].v[0].@dtype" -> a, m, ['k.e'], v, [0],
/// @dtype. Throws ConfigError for unbalanced brackets and empty names.
std::vector<std::string> split_config_path(std::string_view path);
/// Returns the first name of a path: "qkv" of "qkv.theta", "sizes" of "sizes[0]".
std::string_view first_name(std::string_view path);
/// Returns the map key that a name stands for: k, [k], ['k'] and ["k"] are the same.
std::string map_key(std::string_view name);
/// Returns the text without the pair of quotes around it, if there is one.
std::string_view unquoted(std::string_view text);

/// Returns the slot inside any optionals and Requireds. Stops at an empty one and returns its slot.
Slot unwrap(Slot slot);
/// The same, but creates default values in empty ones, so that the result is neither.
Slot made(Slot slot);
/// Returns the type of a slot without any optional or Required around it.
const TypeOps& inner_type(const Slot& slot);
/// True for an optional that is none, a Required that is not set, and a slot without a class or
/// function.
bool is_unset(const Slot& slot);
/// Returns the slots directly below a slot: fields, elements, and the options ("@dtype") of a Child
/// that is not empty.
std::vector<Slot> children_of(const Slot& slot);
/// Returns the struct whose fields are directly below a slot: that of the class it holds, or its
/// own; null if there is none.
const ConfigType* type_below(const Slot& slot);
/// Returns the config held by a Child or Fn slot, even inside an optional; null if the slot is of
/// another kind, or holds none or a named function.
AnyConfig* held_config(const Slot& slot);
/// Puts a config into a Child or Fn slot, even inside an optional. Throws ConfigError if the role
/// or signature differs.
void put_config(const Slot& slot, AnyConfig config);

using Visit = std::function<void(const std::string& path, const Slot& slot)>;
/// Visits all slots depth first, in order of declaration, from the root (whose path is
/// `root_name`). Calls `enter` before a slot's children and `leave` after them. A visitor may
/// change the slot that it gets: children put there by `enter` are walked, those put there by
/// `leave` are not.
void walk(const Slot& root, const Visit& enter, const Visit& leave = {},
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

/// Throws ConfigError "path.name: no such field; did you mean 'layers'? (fields: a, b)". `what` is
/// "field", "option" or "key".
[[noreturn]] void fail_no_slot(const std::string& path, std::string_view name,
                               const std::vector<std::string>& names, std::string_view what);
/// Returns the slot of that name directly below `parent`, whose path is `path`. "key" and "['key']"
/// find the same map element. Throws as fail_no_slot() does.
Slot child_of(const Slot& parent, std::string_view name, const std::string& path);
/// Returns the slot at a path. Error messages begin with `root_name`. Throws as child_of() does.
Slot find_slot(const Slot& root, std::string_view path, std::string_view root_name = {});
/// Returns the whole number of the field at `path`; 0 if there is no such field or no number in it.
int64_t whole_number(const Slot& root, std::string_view path);

}  // namespace axle
