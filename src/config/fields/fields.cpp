#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text/unicode.h"
#include "config/class_call.h"
#include "config/construction.h"
#include "config/fields/child.h"
#include "config/fields/device_number.h"
#include "config/fields/fn.h"
#include "config/fields/named_map.h"
#include "config/fields/own_values.h"
#include "config/fields/required.h"
#include "config/register.h"

namespace axle {

bool fits_device(double v) {
  using Limits = std::numeric_limits<float>;
  const double size = std::abs(v);
  return size == 0 || (size >= Limits::min() && size <= Limits::max());
}

std::string NameOrder::problem(std::string_view key) {
  constexpr size_t kLongest = 100;  // file names have at most 255 bytes
  const auto may_stand = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  if (!key.empty() && key.size() <= kLongest && key[0] != '.' &&
      std::ranges::all_of(key, may_stand))
    return {};
  return fmt::format(
      "expected a name of 1 to {} letters, digits, '_', '-' and '.', not beginning with '.', got "
      "'{}'",
      kLongest, printable(key));
}

void detail::fail_unset_read() {
  throw ConfigError(
      "a REQUIRED field was read before it was set; check_complete() names all that are unset");
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

void detail::fail_empty_fn(const std::type_info& signature) {
  throw ConfigError(fmt::format("a function of signature {} was called before it was set",
                                short_type_name(signature)));
}

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
