#include "modifiers/slot_option.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/walk.h"

namespace axle {

int64_t set_option(ConfigRef root, std::string_view name, const void* value,
                   const SlotFilter& wanted) {
  int64_t matches = 0;
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (!wanted(path, slot)) return;
    for (const Slot& option : children_of(slot)) {
      if (option.name != name) continue;
      option.ops->assign(option.at, value);
      ++matches;
    }
  });
  return matches;
}

void set_option(ConfigRef root, std::string_view name, const void* value, std::string_view at,
                std::string_view where) {
  const auto by_path = [&](const std::string& path, const Slot&) { return glob_match(at, path); };
  if (set_option(root, name, value, by_path) == 0) {
    throw ConfigError(fmt::format(
        "{}.at: expected the path of a layer slot, got '{}', which matches none", where, at));
  }
}

}  // namespace axle
