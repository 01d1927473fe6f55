#include "config/missing.h"

#include "base/error.h"
#include "base/text.h"
#include "config/walk.h"

namespace axle {
namespace {

bool is_unset(const Slot& outer) {
  const Slot slot = peel(outer);
  if (slot.ops->kind == FieldKind::kChild) return !slot.ops->child(slot.at);
  if (slot.ops->kind == FieldKind::kFn) return !slot.ops->fn(slot.at);
  return slot.ops->kind == FieldKind::kRequired;
}

}  // namespace

std::vector<std::string> missing(const ConfigView& root, std::string_view root_name) {
  std::vector<std::string> out;
  walk(
      root,
      [&](const std::string& path, const Slot& slot) {
        if (is_unset(slot)) out.push_back(path);
      },
      {}, root_name);
  return out;
}

void check_complete(const ConfigView& root, std::string_view root_name) {
  const std::vector<std::string> unset = missing(root, root_name);
  if (!unset.empty()) throw ConfigError("REQUIRED but not set: " + join(unset, ", "));
}

}  // namespace axle
