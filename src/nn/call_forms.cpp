#include "nn/call_forms.h"

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

}  // namespace axle
