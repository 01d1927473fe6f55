// The role Tokenizer: text to token ids and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/child.h"

namespace axle {

/// Ids with a meaning of their own; none where the vocabulary has no such token.
struct SpecialIds {
  std::optional<int32_t> bos = {};  // begins a document
  std::optional<int32_t> eos = {};  // ends a document
  std::optional<int32_t> pad = {};  // fills up
};

/// What becomes of a piece's space at the very beginning of decoded text: some vocabularies put one
/// there when they encode. kDropAll goes on dropping until there is text.
enum class LeadingSpace { kKeep, kDropOne, kDropAll };

/// Immutable once built, so usable from several threads.
class Tokenizer {
 public:
  using Role = Tokenizer;
  struct Dims {};
  virtual ~Tokenizer() = default;

  /// Ids are 0 .. vocab_size() - 1.
  virtual int64_t vocab_size() const = 0;
  virtual SpecialIds special_ids() const = 0;
  /// Ids of UTF-8 text, without special ones.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  /// Bytes of memory that encode() takes for each byte of text, its result included.
  virtual int64_t encode_bytes() const = 0;
  /// The bytes that an id stands for, maybe half a character; empty for special ids and those
  /// outside the vocabulary.
  virtual std::string_view piece(int32_t id) const = 0;
  virtual LeadingSpace leading_space(int32_t) const { return LeadingSpace::kKeep; }
  /// Equal for tokenizers that encode alike; checkpoints hold it.
  virtual uint64_t fingerprint() const = 0;

  /// Valid UTF-8 whatever the ids are: a byte that is none becomes U+FFFD.
  std::string decode(std::span<const int32_t> ids) const;

 protected:
  /// Throws DataError "<path>: ..." for text of 2 GiB and more: merging encoders count in i32.
  static void check_text_size(std::string_view path, std::string_view text);
};

}  // namespace axle
