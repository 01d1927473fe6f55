#include "nn/layer_role.h"

#include <map>
#include <typeindex>
#include <utility>

namespace axle {
namespace {

thread_local CallForms* g_innermost = nullptr;

}  // namespace

CallForms::CallForms(Allowed allowed)
    : allowed_(allowed), outer_(std::exchange(g_innermost, this)) {}
CallForms::~CallForms() { g_innermost = outer_; }

bool CallForms::only_plain() {
  return g_innermost != nullptr && g_innermost->allowed_ == Allowed::kPlain;
}

void CallForms::note(const std::string& path, const std::string& form) {
  if (g_innermost) g_innermost->notes_.insert_or_assign(path, form);
}

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
