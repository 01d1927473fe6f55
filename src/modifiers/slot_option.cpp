#include "modifiers/slot_option.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/document/print.h"
#include "config/walk.h"

namespace axle {

RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         const SlotFilter& wanted) {
  RewriteReport report;
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (!wanted(path, slot)) return;
    for (const Slot& option : children_of(slot)) {
      if (option.name != name) continue;
      const bool is_set = same_values(option, {option.name, const_cast<void*>(value), option.ops});
      (is_set ? report.unchanged : report.matched).push_back(path);
      option.ops->assign(option.at, value);
    }
  });
  return report;
}

RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         std::string_view at, std::string_view where) {
  const auto by_path = [&](const std::string& path, const Slot&) { return glob_match(at, path); };
  RewriteReport report = set_option(root, name, value, by_path);
  if (report.matched.empty() && report.unchanged.empty()) {
    throw NoMatch(fmt::format(
        "{}.at: expected the path of a layer slot, got '{}', which matches none", where, at));
  }
  return report;
}

}  // namespace axle
