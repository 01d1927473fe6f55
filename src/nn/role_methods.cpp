#include "nn/role_methods.h"

#include <map>
#include <typeindex>

namespace axle {
namespace {

std::map<std::type_index, std::vector<MethodNames>>& table() {
  static auto* const all = new std::map<std::type_index, std::vector<MethodNames>>;
  return *all;
}

}  // namespace

RoleMethods::RoleMethods(const std::type_info& role, std::vector<MethodNames> methods) {
  table()[role] = std::move(methods);
}

std::vector<MethodNames> role_methods(const std::type_info& role) {
  const auto it = table().find(role);
  return it == table().end() ? std::vector<MethodNames>() : it->second;
}

}  // namespace axle
