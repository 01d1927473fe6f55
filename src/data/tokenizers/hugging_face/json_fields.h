// Fields of tokenizer.json. Null counts as not there.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text/enum_text.h"
#include "base/text/json.h"
#include "base/text/unicode_regex.h"

namespace axle::hugging_face {

inline std::optional<JsonView> field(const JsonView& object, std::string_view key) {
  auto found = object.find(key);
  return found && !found->json().is_null() ? found : std::nullopt;
}
inline bool bool_field(const JsonView& object, std::string_view key, bool otherwise) {
  const auto found = field(object, key);
  if (found && !found->json().is_boolean()) found->fail("true or false");
  return found ? found->json().get<bool>() : otherwise;
}
inline std::string text_field(const JsonView& object, std::string_view key,
                              std::string_view otherwise) {
  const auto found = field(object, key);
  return found ? found->text() : std::string(otherwise);
}
/// Returns a text that stands beside each character or word.
inline std::string short_text_field(const JsonView& object, std::string_view key,
                                    std::string_view otherwise) {
  constexpr size_t kMostBytes = 64;
  const auto found = field(object, key);
  if (found && found->text().size() > kMostBytes)
    found->fail(fmt::format("a text of at most {} bytes", kMostBytes));
  return found ? found->text() : std::string(otherwise);
}
/// Returns the value of an enum by its text.
template <class E>
E enum_field(const JsonView& object, std::string_view key, E otherwise) {
  const auto found = field(object, key);
  if (!found) return otherwise;
  std::string expected;
  for (const auto& [value, text] : texts_of(E{})) {
    if (found->text() == text) return value;
    expected += (expected.empty() ? "" : ", ") + std::string(text);
  }
  found->fail("one of " + expected);
}

/// A field {"String": "..."} or {"Regex": "..."}: `regex` is set for the latter.
struct Pattern {
  std::string text = {};
  std::optional<UnicodeRegex> regex = {};
};
inline Pattern pattern_field(const JsonView& object, std::string_view key) {
  const JsonView value = object.at(key);
  if (const auto text = value.find("String")) return {.text = text->text()};
  const JsonView regex = value.at("Regex");
  try {
    return {.regex = UnicodeRegex(regex.text(), RegexSyntax::kOniguruma)};
  } catch (const ConfigError& error) {
    throw JsonError(regex.path() + ": " + error.what());
  }
}

}  // namespace axle::hugging_face
