#include "config/construction.h"

#include <fmt/format.h>

#include <utility>

#include "base/class_call.h"
#include "config/missing.h"

namespace axle {

AXLE_REGISTER(NoFields)

void Construction::note(const ConfigError& error) {
  ++num_noted_;
  if (dynamic_cast<const InheritedError*>(&error) && std::exchange(has_inherited_, true)) return;
  mistakes_.add(mistakes_.size() < Mistakes::kMax ? error.what() : Mistakes::kRest);
}

namespace detail {

void* build(const Building& building, const Scope& scope) {
  if (!scope.construction) {
    forget_failed_calls();
    Construction own;
    Scope inner = scope;
    inner.construction = &own;
    void* const built = build(building, inner);
    own.throw_any();
    return built;
  }
  Construction& construction = *scope.construction;
  const std::string where = scope.as_config();
  const size_t num_before = construction.num_noted();
  void* built = nullptr;
  try {
    construction.attempt([&] {
      if (!building.config) {
        throw ConfigError(
            fmt::format("{}: REQUIRED but not set: a {}", where, short_type_name(building.role)));
      }
      check_own_values(building.config, where);
      Scope inner = scope;
      inner.options = building.options;
      inner.dims = building.dims;
      const ConfigType& type = building.config.type();
      const ClassCall call(*type.owner, where);
      built = type.build(building.config.get(), building.dims, inner);
    });
  } catch (const UnbuiltPart&) {
    // The part's own mistake is noted.
  }
  if (construction.num_noted() == num_before || construction.keeps_unsound()) return built;
  building.destroy(built);
  return nullptr;
}

}  // namespace detail
}  // namespace axle
