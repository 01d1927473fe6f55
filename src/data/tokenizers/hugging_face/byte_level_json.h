// The tokenizer.json of byte-level tokens that merges join, and of characters that they do.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

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
/// Tokens with their ids, which are their places.
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
