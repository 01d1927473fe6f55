// Views of whole config trees: what print, set, walk, replace and YAML take.
#pragma once

#include "config/fields/child.h"
#include "config/type_ops.h"

namespace axle {

/// Non-owning, for reading: a config struct, a root Child, or an AnyConfig that is not empty.
class ConfigView {
 public:
  template <Configures C>
  ConfigView(const C& config) : ConfigView(&config, C::config_type().ops) {}
  template <class Role>
  ConfigView(const Child<Role>& root) : ConfigView(&root, &kOps<Child<Role>>) {}
  ConfigView(const AnyConfig& config) : ConfigView(config.get(), config.type().ops) {}
  /// A subtree, as walk() and find_slot() give it.
  explicit ConfigView(const Slot& slot) : ConfigView(slot.at, slot.ops) {}

  /// The root, without a name. Generic code that only reads may look through it.
  Slot slot() const { return {{}, at_, ops_}; }

 private:
  ConfigView(const void* at, const TypeOps* ops) : at_(const_cast<void*>(at)), ops_(ops) {}
  void* at_;
  const TypeOps* ops_;
};

/// Non-owning, for changing. A root Child may be replaced as a whole.
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
