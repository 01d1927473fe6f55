// The parts of Hugging Face's tokenizer.json: each function reads one of its fields. All throw
// JsonError with the path of the field.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/regex.h"
#include "base/text/text.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"

namespace axle::hugging_face {

/// Reads "normalizer".
std::vector<Normalizer> read_normalizers(const JsonView& json);

struct PreTokenizers {
  std::vector<PreTokenizer> steps = {};
  /// The last step is to write bytes in the alphabet of byte_level.h; it is not in `steps`.
  bool ends_in_bytes = false;
};
/// Reads "pre_tokenizer".
PreTokenizers read_pre_tokenizers(const JsonView& json);

/// Reads "model". A model that can't take bytes gets them mapped by a step that is added to the
/// pre-tokenizers.
std::unique_ptr<TokenModel> read_model(const JsonView& json, PreTokenizers& pre_tokenizers);

/// Reads a token that was added to a vocabulary, without its id.
AddedToken read_added_token(const JsonView& json);
/// Reads "added_tokens". Their ids are as the library assigns them: the one in the model's
/// vocabulary, else the next one behind it. Another id in the file is an error.
std::vector<AddedToken> read_added_tokens(const JsonView& json, const Vocabulary& vocabulary);

/// Reads "decoder".
TokenDecoder read_decoder(const JsonView& json);

/// What "post_processor" puts around a single text.
struct Frame {
  std::vector<int32_t> before = {}, behind = {};
};
Frame read_frame(const JsonView& json);

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
  for (const auto& [value, text, former] : texts_of(E{})) {
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

namespace axle {

/// What such tokenizers differ in; the rest is the same in all of them.
struct ByteLevelJson {
  nlohmann::ordered_json added_tokens, pre_tokenizer, post_processor, vocab, merges;
  bool ignore_merges = false;
  /// Tokens of characters, where rare ones are bytes, have another decoder.
  bool byte_fallback = false;
  nlohmann::ordered_json decoder = nullptr;  // null: that of bytes
  nlohmann::ordered_json normalizer = nullptr;
  /// What a character without tokens becomes, neighbours together; null: there is nothing.
  nlohmann::ordered_json unknown = nullptr;

  /// The fields of the file.
  nlohmann::ordered_json document() const;
};
/// The pre-tokenizer and decoder of bytes.
nlohmann::ordered_json byte_level_step(bool use_regex);
/// The pre-tokenizer that cuts by patterns, one after the other, then writes bytes.
nlohmann::ordered_json split_steps(std::span<const std::string_view> patterns);
/// A step that replaces a text by another, as normalizer or decoder.
nlohmann::ordered_json replace_step(const std::string& text, const std::string& by);
/// Tokens with their ids, which are their indices.
nlohmann::ordered_json vocabulary_object(std::span<const std::string> tokens);
/// A special token that stands around a text.
struct FrameToken {
  int32_t id = 0;
  std::string text = {};
};
/// The post-processor that puts tokens before and behind a text; null without tokens.
nlohmann::ordered_json frame_step(std::span<const FrameToken> before,
                                  std::span<const FrameToken> behind);
/// An entry of added_tokens, which texts hold as it is.
nlohmann::ordered_json added_token_entry(int64_t id, const std::string& content, bool is_special);

}  // namespace axle
