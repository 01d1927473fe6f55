#include "config/register.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {

std::vector<Field> detail::make_fields(std::string_view owner, std::string_view names,
                                       const void* base, std::span<const void* const> at,
                                       std::span<const TypeOps* const> ops) {
  std::vector<Field> fields;
  if (at.empty()) return fields;
  const std::vector<std::string_view> each = split(names, ',');
  for (size_t i = 0; i < at.size(); ++i) {
    const std::string_view name = trim(each[i]);
    for (const Field& earlier : fields) {
      if (earlier.name == name) {
        throw ConfigError(fmt::format(
            "AXLE_CONFIG({}, ...): expected each field once, got '{}' twice; name the one that is "
            "left out instead",
            owner, name));
      }
    }
    const auto offset = static_cast<const char*>(at[i]) - static_cast<const char*>(base);
    fields.push_back({name, static_cast<size_t>(offset), ops[i]});
  }
  return fields;
}

void detail::mark_keeps_results(ConfigType& type, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto field = std::ranges::find(type.fields, name, &Field::name);
    if (field == type.fields.end()) {
      throw ConfigError(
          fmt::format("AXLE_CONFIG({}, ...): kKeepsResults: no such field '{}'", type.name, name));
    }
    field->keeps_results = true;
  }
}

}  // namespace axle
