#include "modifiers/set_field.h"

#include <fmt/format.h>

#include "config/document/print.h"
#include "config/find_slot.h"
#include "config/walk.h"

namespace axle {

RewriteReport set_field(ConfigRef root, const Selector& select, std::string_view name,
                        const void* value, const std::type_info& type) {
  RewriteReport report;
  const int64_t count =
      for_each_match(root, select, [&](const std::string& path, const Slot& slot) {
        const std::string full = join_config_path(path, name);
        const Slot field = find_slot(ConfigView(slot), name, path);
        if (*field.ops->type != type) {
          throw ConfigError(fmt::format("{}: expected a field of type {}, got another one", full,
                                        short_type_name(type)));
        }
        const bool is_set = same_values(field, {field.name, const_cast<void*>(value), field.ops});
        (is_set ? report.unchanged : report.matched).push_back(full);
        field.ops->assign(field.at, value);
      });
  if (count == 0) fail_no_match(root, select);
  return report;
}

}  // namespace axle
