// Names of special tokens in texts: where a text was rendered by a template beforehand.
#pragma once

#include <string_view>

#include "data/tokenizers/parts/byte_trie.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// The names of a tokenizer's special tokens that encode() takes for text: "<|im_start|>".
class SpecialNames {
 public:
  explicit SpecialNames(const Tokenizer& tokenizer);
  /// True if one of them stands in the text.
  bool stand_in(std::string_view text) const { return names_.find(text, 0).has_value(); }

 private:
  ByteTrie names_;
};

}  // namespace axle
