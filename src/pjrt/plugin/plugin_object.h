// RAII ownership of an object that lives in a plugin.
#pragma once

#include <utility>

#include "pjrt/plugin/plugin.h"

namespace axle {

/// Owns one object of a plugin. `Destroy` is the argument struct of the call that destroys it.
template <class Object, class Destroy>
class PluginObject {
 public:
  PluginObject() = default;
  PluginObject(const Plugin& plugin, Object* object) : plugin_(&plugin), object_(object) {}
  PluginObject(PluginObject&& other) noexcept
      : plugin_(other.plugin_), object_(std::exchange(other.object_, nullptr)) {}
  PluginObject& operator=(PluginObject&& other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~PluginObject() {
    if (!object_) return;
    Destroy args{{}, object_};
    plugin_->try_call(args);  // a failure is ignored: a destructor can't do anything about it
  }
  Object* get() const { return object_; }
  Object* release() { return std::exchange(object_, nullptr); }

 private:
  const Plugin* plugin_ = nullptr;
  Object* object_ = nullptr;
};

}  // namespace axle
