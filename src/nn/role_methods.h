// The methods of each role besides its own call. `axle config list` reads them without building a
// layer.
#pragma once

#include <span>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace axle {

/// A method of Layer::methods() and the names of its inputs.
struct MethodNames {
  std::string_view name;
  std::span<const std::string_view> inputs;
};

/// Registers the methods of a role: `const RoleMethods methods(typeid(Model), {{"logits",
/// Model::kInputs}});` in the role's .cpp.
class RoleMethods {
 public:
  RoleMethods(const std::type_info& role, std::vector<MethodNames> methods);
};

/// Returns the methods registered for the role; empty if a role has only its own call.
std::vector<MethodNames> role_methods(const std::type_info& role);

}  // namespace axle
