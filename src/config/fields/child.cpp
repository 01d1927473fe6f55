#include "config/fields/child.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/fields/fn.h"
#include "config/fields/required.h"
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

void FnSlot::put_as(const std::type_info& signature, AnyConfig functor) {
  const ConfigType& type = functor.type();
  if (!type.signature || *type.signature != signature) {
    throw ConfigError(fmt::format("expected a function of signature {}, got {}",
                                  short_type_name(signature), type.name));
  }
  clear();
  functor_ = std::move(functor);
}
void FnSlot::put_as(std::string name, AnyFunction function) {
  functor_ = {};
  name_ = std::move(name);
  plain_ = function;
}
void FnSlot::clear() { put_as({}, nullptr); }

void detail::fail_empty_child(const Scope& scope, const RoleInfo& role) {
  throw ConfigError(fmt::format("{}: REQUIRED but not set: a {}", scope.path, role.name));
}
void detail::fail_empty_fn(const std::type_info& signature) {
  throw ConfigError(fmt::format("a function of signature {} was called before it was set",
                                short_type_name(signature)));
}
void detail::fail_unset_read() {
  throw ConfigError(
      "a REQUIRED field was read before it was set; check_complete() names all that are unset");
}

}  // namespace axle
