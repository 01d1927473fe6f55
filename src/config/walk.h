// Views of config trees, the one traversal of them, and their fields by path. All generic code is
// built on it.
#pragma once

#include <functional>

#include "config/register.h"

namespace axle {

/// A non-owning view for reading a config struct, a root Child, or an AnyConfig that is not empty.
class ConfigView {
 public:
  template <Configures C>
  ConfigView(const C& config) : ConfigView(&config, C::config_type().ops) {}
  template <class Role>
  ConfigView(const Child<Role>& root) : ConfigView(&root, &kOps<Child<Role>>) {}
  ConfigView(const AnyConfig& config) : ConfigView(config.get(), config.type().ops) {}
  /// Views a subtree, as walk() and find_slot() return it.
  explicit ConfigView(const Slot& slot) : ConfigView(slot.at, slot.ops) {}

  /// Returns the root, which has no name. Generic code may use it for reading only.
  Slot slot() const { return {{}, at_, ops_}; }

 private:
  ConfigView(const void* at, const TypeOps* ops) : at_(const_cast<void*>(at)), ops_(ops) {}
  void* at_;
  const TypeOps* ops_;
};

/// A non-owning view for changing a config tree. A root Child may be replaced as a whole.
class ConfigRef : public ConfigView {
 public:
  template <Configures C>
  requires(!std::is_const_v<C>) ConfigRef(C& config) : ConfigView(config) {}
  template <class Role>
  ConfigRef(Child<Role>& root) : ConfigView(root) {}
  ConfigRef(AnyConfig& config) : ConfigView(config) {}
  explicit ConfigRef(const Slot& slot) : ConfigView(slot) {}
};

/// Joins a path and a name: "a" and "b" -> "a.b"; "a" and "[0]" -> "a[0]".
std::string join_config_path(std::string_view parent, std::string_view name);
/// Splits a path into names as Slots have them: "a.m['k.e'].v[0].@dtype" -> a, m, ['k.e'], v, [0],
/// @dtype. Throws ConfigError for unbalanced brackets and empty names.
std::vector<std::string> split_config_path(std::string_view path);
/// Returns the first name of a path: "qkv" of "qkv.theta", "sizes" of "sizes[0]".
std::string_view first_name(std::string_view path);
/// Returns the text without the pair of quotes around it, if there is one.
std::string_view unquoted(std::string_view text);

/// Returns the slot inside any optionals and Requireds. Stops at an empty one and returns its slot.
Slot unwrap(Slot slot);
/// Returns the slots directly below a slot: fields, elements, and the options ("@dtype") of a Child
/// that is not empty.
std::vector<Slot> children_of(const Slot& slot);
/// Returns the struct whose fields are directly below a slot: that of the class it holds, or its
/// own; null if there is none.
const ConfigType* type_below(const Slot& slot);
/// Returns the config held by a Child or Fn slot, even inside an optional; null if the slot is of
/// another kind or holds none.
AnyConfig* held_config(const Slot& slot);
/// Puts a config into a Child or Fn slot, even inside an optional. Throws ConfigError if the role
/// or signature differs.
void put_config(const Slot& slot, AnyConfig config);

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

/// Returns the slot at `path`. ".key" also finds a map element. Error messages begin with
/// `root_name`. Throws ConfigError "model.layrs: no such field; did you mean 'layers'? (fields:
/// emb, layers)".
Slot find_slot(const ConfigView& root, std::string_view path, std::string_view root_name = {});
/// Does the same for a field that is about to be set: creates the optional structs on the path, and
/// a new element of a map at its end.
Slot find_or_make_slot(ConfigRef root, std::string_view path, std::string_view root_name = {});
/// Returns the whole number of the field at `path`; 0 if there is no such field or no number in it.
int64_t whole_number(const ConfigView& root, std::string_view path);

/// True for a map whose entries `none` removes: those of structs, classes and functions. Other
/// entries may hold `none` themselves.
bool none_removes_entries(const TypeOps& map);
/// Removes the entry of such a map at `path`. Returns false if `path` names something else. Throws
/// ConfigError as find_slot() does.
bool remove_entry(ConfigRef root, std::string_view path, std::string_view root_name = {});

/// Throws ConfigError if `key` is not valid in the map: if it is empty, holds control characters or
/// "']" (the end of a key in paths), or breaks the rule of the map's type.
void check_map_key(const TypeOps& map, std::string_view key, const std::string& path);
/// Throws ConfigError "path.name: no such field; did you mean 'layers'? (fields: a, b)". `what` is
/// "field", "option" or "key".
[[noreturn]] void fail_no_slot(const std::string& path, std::string_view name,
                               const std::vector<std::string>& names, std::string_view what);

}  // namespace axle
