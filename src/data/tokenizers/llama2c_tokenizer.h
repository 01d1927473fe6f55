// The vocabulary file of llama2.c: pieces with scores, merged pairwise.
//
// Layout, little-endian:
//   i32 length of the longest piece;
//   then for each id: f32 score, i32 length, the piece.
// Ids:
//   0, 1, 2: the unknown token, the beginning and the end of a text;
//   3 + b: the byte b;
//   the rest: text with plain spaces.
#pragma once

#include <unordered_map>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Byte-pair encoding. A space is put before the text, which is split into characters (into bytes
/// where a character is no piece). Then the adjacent pair whose union has the best score is merged,
/// the leftmost of equal scores first, until no union is a piece.
class Llama2cTokenizer final : public Tokenizer {
 public:
  struct Config {
    /// The vocabulary file.
    Required<std::string> path = REQUIRED;
    AXLE_CONFIG(Llama2cTokenizer, path)
  };
  /// Throws DataError with file and offset if the file is missing, truncated or not such a
  /// vocabulary.
  Llama2cTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);

  int64_t vocab_size() const override { return std::ssize(pieces_); }
  SpecialIds special_ids() const override;
  std::vector<int32_t> encode(std::string_view text) const override;
  EncodeBytes encode_bytes() const override { return {.of_text = 125}; }  // symbols and merges
  std::string_view piece(int32_t id) const override;
  LeadingSpace leading_space(int32_t id) const override;
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  std::string path_;  // for messages
  std::vector<std::string> pieces_;
  std::vector<float> scores_;
  std::unordered_map<std::string_view, int32_t> ids_;  // views into pieces_; text pieces only
  uint64_t fingerprint_ = 0;
};

}  // namespace axle
