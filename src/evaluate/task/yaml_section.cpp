#include "evaluate/task/yaml_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "base/text/utf8.h"
#include "config/document/codec.h"

namespace axle {

YamlSection::YamlSection(Json value, std::string where, std::string what)
    : value_(std::move(value)), where_(std::move(where)), what_(std::move(what)) {
  if (value_.is_null()) value_ = Json::object();
  if (!value_.is_object()) {
    throw ConfigError(fmt::format("{}: expected a mapping with the keys of {}, got another value",
                                  where_, what_));
  }
}

std::optional<YamlSection::Json> YamlSection::take(std::string_view key) {
  known_.emplace_back(key);
  const auto found = value_.find(key);
  if (found == value_.end()) return std::nullopt;
  Json out = std::move(*found);
  value_.erase(found);
  return out.is_null() ? std::nullopt : std::optional(std::move(out));
}

std::optional<std::string> YamlSection::take_text(std::string_view key) {
  const auto value = take(key);
  if (!value) return std::nullopt;
  if (!value->is_string()) fail(key, "expected a text, got a list or mapping");
  return value->get<std::string>();
}

std::vector<std::string> YamlSection::take_texts(std::string_view key) {
  const auto value = take(key);
  if (!value) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) fail(key, "expected a text or a list of texts, got a mapping");
  std::vector<std::string> out;
  for (const Json& one : *value) {
    if (!one.is_string()) fail(key, "expected a list of texts, got another element");
    out.push_back(one.get<std::string>());
  }
  return out;
}

std::optional<int64_t> YamlSection::take_integer(std::string_view key, int64_t least) {
  const auto text = take_text(key);
  if (!text) return std::nullopt;
  const auto value = at(key, [&] { return Codec<int64_t>::parse(*text); });
  if (value < least)
    fail(key, fmt::format("expected an integer of at least {}, got {}", least, value));
  return value;
}

bool YamlSection::take_flag(std::string_view key, bool fallback) {
  const auto text = take_text(key);
  if (!text) return fallback;
  return at(key, [&] { return Codec<bool>::parse(lower_case(*text)); });
}

void YamlSection::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) take(key);
}

void YamlSection::check_all_taken() const {
  if (value_.empty()) return;
  std::vector<std::string> names, others;
  for (const auto& [key, value] : value_.items()) others.push_back(printable(key));
  std::string hint = suggest(others[0], known_);
  if (hint.empty()) hint = fmt::format(" (keys: {})", join(known_, ", "));
  throw ConfigError(fmt::format("{}: expected keys of {} that are understood, got {}{}", where_,
                                what_, join(others, ", "), hint));
}

std::string YamlSection::place(std::string_view key) const {
  return fmt::format("{}: {}", where_, key);
}

void YamlSection::fail(std::string_view key, std::string_view message) const {
  throw ConfigError(fmt::format("{}: {}", place(key), message));
}

}  // namespace axle
