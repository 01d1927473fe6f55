#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/text/unicode.h"
#include "config/construction.h"
#include "config/missing.h"
#include "config/register.h"

namespace axle {

AXLE_REGISTER(NoOptions)

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

namespace detail {

void fail_unset_read() {
  throw ConfigError(
      "a REQUIRED field was read before it was set; check_complete() names all that are unset");
}

void fail_empty_fn(const std::type_info& signature) {
  throw ConfigError(fmt::format("a function of signature {} was called before it was set",
                                short_type_name(signature)));
}

void* build(const Building& building, const Scope& scope) {
  forget_failed_calls();
  Construction construction;
  Scope inner = scope;
  inner.construction = &construction;
  void* const built = build_part(building, inner);
  construction.throw_any();
  return built;
}

void* build_part(const Building& building, const Scope& scope) {
  if (!scope.construction) return build(building, scope);
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
