// The ways to call a role beside its own call, by role: known without a layer at hand (config
// list).
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

/// Enters itself: `const RoleMethods methods(typeid(Model), {{"logits", Model::kInputs}});` in the
/// role's .cpp.
class RoleMethods {
 public:
  RoleMethods(const std::type_info& role, std::vector<MethodNames> methods);
};

/// What was entered for the role; empty for roles that are only called.
std::vector<MethodNames> role_methods(const std::type_info& role);

}  // namespace axle
