#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"

namespace axle {

std::string Scope::as_config() const { return config_path.empty() ? dotted(path) : config_path; }

std::string_view ConfigType::present_name(std::string_view field) const {
  const auto it = std::ranges::find(former_names, field, &FormerName::former);
  return it == former_names.end() ? field : it->name;
}

void AnyConfig::put_as(const std::type_info& interface, AnyConfig config) {
  const ConfigType& type = config.type();
  if (!type.interface() || *type.interface() != interface) {
    const std::string wanted = short_type_name(interface);
    throw ConfigError(
        is_signature(interface)
            ? fmt::format("expected a function of signature {}, got {}", wanted, type.name)
            : fmt::format("expected a {}, got {}, which is {}", wanted, type.name,
                          type.role ? "a " + type.role->name : "no module"));
  }
  *this = std::move(config);
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

}  // namespace detail
}  // namespace axle
