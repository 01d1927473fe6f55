#include "config/fields/child.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"

namespace axle {

AXLE_REGISTER(NoOptions)

void ChildSlot::put_as(const RoleInfo& role, AnyConfig config) {
  const ConfigType& type = config.type();
  if (!type.role || *type.role->type != *role.type) {
    throw ConfigError(fmt::format("expected a {}, got {}, which is {}", role.name, type.name,
                                  type.role ? "a " + type.role->name : std::string("no module")));
  }
  held_ = std::move(config);
}

void detail::fail_empty_child(const Scope& scope, const RoleInfo& role) {
  throw ConfigError(fmt::format("{}: REQUIRED but not set: a {}", scope.path, role.name));
}

}  // namespace axle
