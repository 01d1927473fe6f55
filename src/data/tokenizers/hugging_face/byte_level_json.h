// The tokenizer.json of byte-level tokens that merges join.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace axle {

/// What such tokenizers differ in; the rest is the same in all of them.
struct ByteLevelJson {
  nlohmann::ordered_json added_tokens, pre_tokenizer, post_processor, vocab, merges;
  bool ignore_merges = false;

  /// The fields of the file.
  nlohmann::ordered_json document() const;
};
/// The pre-tokenizer and decoder of bytes.
nlohmann::ordered_json byte_level_step(bool use_regex);
/// An entry of added_tokens, which texts hold as it is.
nlohmann::ordered_json added_token_entry(int64_t id, const std::string& content, bool is_special);

}  // namespace axle
