// Views of whole config trees: the argument type of print, set, walk, replace and YAML.
#pragma once

#include "config/fields/child.h"
#include "config/type_ops.h"

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
  // A slot has no constness of its own. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
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

}  // namespace axle
