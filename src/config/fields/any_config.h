// A config of any module or functor, held by value.
#pragma once

#include <utility>

#include "config/config_type.h"

namespace axle {

/// Owns a config struct of any type, or is empty. Copies are deep.
class AnyConfig {
 public:
  AnyConfig() = default;
  /// Takes ownership of `value`, which is a config of that type made by `new`.
  AnyConfig(const ConfigType& type, void* value) : type_(&type), value_(value) {}
  template <Configures C>
  static AnyConfig of(C config) {
    return AnyConfig(C::config_type(), new C(std::move(config)));
  }
  static AnyConfig with_defaults(const ConfigType& type) {
    return AnyConfig(type, type.make_default());
  }

  AnyConfig(const AnyConfig& other)
      : type_(other.type_), value_(other.type_ ? other.type_->copy(other.value_) : nullptr) {}
  AnyConfig(AnyConfig&& other) noexcept
      : type_(std::exchange(other.type_, nullptr)), value_(std::exchange(other.value_, nullptr)) {}
  AnyConfig& operator=(AnyConfig other) noexcept {
    std::swap(type_, other.type_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~AnyConfig() {
    if (type_) type_->destroy(value_);
  }

  explicit operator bool() const { return type_ != nullptr; }
  /// Must not be called on an empty AnyConfig.
  const ConfigType& type() const { return *type_; }
  void* get() const { return value_; }
  /// Returns the config if it is exactly a C, else null.
  template <Configures C>
  C* get_if() const {
    return type_ == &C::config_type() ? static_cast<C*>(value_) : nullptr;
  }

 private:
  const ConfigType* type_ = nullptr;
  void* value_ = nullptr;
};

}  // namespace axle
