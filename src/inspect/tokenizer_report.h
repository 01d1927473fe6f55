// What a tokenizer makes of texts, and what is in its file.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer.h"

namespace axle {

/// A tokenizer that was read from a file of any kind.
struct NamedTokenizer {
  std::string path, class_name;
  std::unique_ptr<Tokenizer> tokenizer;
};
/// Throws as tokenizer_in_file() does.
NamedTokenizer open_tokenizer(const std::string& path);

struct TokenText {
  int32_t id = 0;
  std::string token;  // its name in the vocabulary
};

struct EncodedText {
  std::vector<TokenText> tokens;
};
/// `with_special`: special tokens that stand in the text become their ids. `framed`: adds the ids
/// that the file puts around a text.
EncodedText encode_text(const Tokenizer& tokenizer, std::string_view text, bool with_special,
                        bool framed);
/// The ids in one line.
std::string to_text(const EncodedText& encoded);
nlohmann::ordered_json to_json(const EncodedText& encoded);

/// Reads ids with spaces, commas or line ends between them, also in brackets, or the JSON of an
/// EncodedText. Throws DataError for other text and for ids outside the vocabulary.
std::vector<int32_t> parse_ids(std::string_view text, const NamedTokenizer& tokenizer);

struct TokenizerFacts {
  std::string path, class_name;
  int64_t vocab_size = 0;
  /// Special ids, with what they are for: "bos".
  std::vector<std::pair<std::string, TokenText>> special = {};
  /// What the file puts around a text.
  std::vector<TokenText> before = {}, behind = {};
  /// What is found in a text by name.
  std::vector<TokenText> added = {};
  uint64_t fingerprint = 0;
};
TokenizerFacts tokenizer_facts(const NamedTokenizer& tokenizer);
std::string to_text(const TokenizerFacts& facts);
nlohmann::ordered_json to_json(const TokenizerFacts& facts);

}  // namespace axle
