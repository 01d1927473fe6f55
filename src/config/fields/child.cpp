#include "config/fields/child.h"

#include <fmt/format.h>

#include "config/class_call.h"
#include "config/construction.h"
#include "config/fields/own_values.h"
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

void* ChildSlot::build_as(const Building& building, const Scope& scope) const {
  forget_failed_calls();
  Construction construction;
  Scope inner = scope;
  inner.construction = &construction;
  void* const built = build_part_as(building, inner);
  construction.throw_any();
  return built;
}

void* ChildSlot::build_part_as(const Building& building, const Scope& scope) const {
  if (!scope.construction) return build_as(building, scope);
  Construction& construction = *scope.construction;
  const std::string where = scope.as_config();
  const size_t num_before = construction.num_noted();
  void* built = nullptr;
  const auto construct = [&] {
    if (!held_) {
      throw ConfigError(fmt::format("{}: REQUIRED but not set: a {}", where, building.role.name));
    }
    check_own_values(held_, where);
    Scope inner = scope;
    inner.options = building.options;
    inner.dims = building.dims;
    const ClassCall call(*held_.type().owner, where);
    built = held_.type().build(held_.get(), building.dims, inner);
  };
  try {
    construction.attempt(construct);
  } catch (const UnbuiltPart&) {
    // The part's own mistake is noted.
  }
  if (construction.num_noted() == num_before || construction.keeps_unsound()) return built;
  building.destroy(built);
  return nullptr;
}

}  // namespace axle
