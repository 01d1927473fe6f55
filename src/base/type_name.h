// Names of C++ types for messages, and which classes inherit from which.
#pragma once

#include <string>
#include <typeinfo>

namespace axle {

/// Returns the C++ name without namespaces: "RMSNorm" for axle::RMSNorm, "Tensor (Tensor const&)"
/// for a signature.
std::string short_type_name(const char* mangled);
inline std::string short_type_name(const std::type_info& type) {
  return short_type_name(type.name());
}
/// True for the type of a function: a signature.
bool is_signature(const std::type_info& type);
/// True if `type` is `base` or inherits from it.
bool derives_from(const std::type_info& type, const std::type_info& base);

}  // namespace axle
