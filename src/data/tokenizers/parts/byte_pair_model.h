// Byte-pair encoding: adjacent tokens are merged, the best pair first.
//
// Source: Sennrich et al. 2016, arXiv 1508.07909, section 3.2.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/tokenizers/parts/token_model.h"

namespace axle {

/// Which pairs of tokens may be merged, with their ranks (the lowest is merged first) and what they
/// become.
class MergeTable {
 public:
  struct Merge {
    int32_t rank, id;
  };
  /// A later merge of the same pair replaces the earlier one.
  void add(int32_t left, int32_t right, Merge merge);
  /// Returns nullptr if the pair can't be merged.
  const Merge* find(int32_t left, int32_t right) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = key_of(left, right);
    const size_t bit = bit_of(key);
    if ((maybe_[bit / 64] >> bit % 64 & 1) == 0) return nullptr;
    for (size_t at = slot_of(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kFree) return nullptr;
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Merge merge = {};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>(key * 0x9e3779b97f4a7c15u >> 24) & (slots_.size() - 1);
  }
  size_t bit_of(uint64_t key) const {
    return static_cast<size_t>(key * 0xd6e8feb86659fd93u >> 24) & (64 * maybe_.size() - 1);
  }
  std::vector<Slot> slots_;  // a hash table of a power of two, at most half full
  // Most pairs can't be merged. These bits, four for each slot, show it for most of them without a
  // look at the table, which is larger than the caches of a processor.
  std::vector<uint64_t> maybe_;
  size_t num_merges_ = 0;
};

/// Returns the tokens of a merge in text form, "a b"; none if there is not one space.
std::optional<std::pair<std::string_view, std::string_view>> two_tokens(std::string_view merge);

/// Returns the merges of a vocabulary without a list of them: any two tokens may be merged whose
/// union is a token, by the rank of that token. `ranks` are by id; tokens without a rank (-1) take
/// no part. Throws DataError "<path>: ..." for tokens of more than
/// kMaxTokenBytes.
MergeTable merges_of_unions(const Vocabulary& vocabulary, std::span<const int32_t> ranks,
                            std::string_view path);

/// Returns the ranks of tokens whose scores order them, the best first, by id: equal scores have
/// equal ranks. -1 for tokens of which takes_part(id) is false.
std::vector<int32_t> ranks_of_scores(std::span<const float> scores,
                                     const std::function<bool(size_t)>& takes_part);

class BytePairModel final : public TokenModel {
 public:
  /// What a piece begins as, before the first merge.
  enum class Symbols {
    kCharacters,
    kBytes,     // tokens are bytes
    kByteLevel  // tokens write bytes in the alphabet of byte_level.h
  };
  struct Options {
    Symbols symbols = Symbols::kCharacters;
    /// A piece that is a token becomes that token, regardless of the merges.
    bool ignore_merges = false;
    /// A character that is no token becomes the tokens of its bytes ("<0x0A>").
    bool byte_fallback = false;
    /// What other characters become; without it they are dropped.
    std::optional<int32_t> unknown = {};
    /// Neighbouring unknown characters become one.
    bool fuse_unknown = false;
    /// Stands before each character of a piece but the first.
    std::string continuing_prefix = {};
    /// Stands behind the last character of a piece.
    std::string end_suffix = {};
    /// Tokens that merges make and go on from, but that are cut again where they are left: into the
    /// two that they were made of. Tokens of one character stay.
    std::vector<int32_t> unused = {};
  };
  BytePairModel(Vocabulary vocabulary, MergeTable merges, Options options);

  std::unique_ptr<Scratch> make_scratch(size_t text_bytes) const override {
    return caches_.lend(text_bytes);
  }
  void encode(std::string_view piece, Scratch* scratch, std::vector<int32_t>& ids) const override;
  int64_t piece_bytes() const override { return 64; }
  bool cuts_words() const override { return words_are_apart_; }

 private:
  void encode_uncached(std::string_view piece, std::vector<int32_t>& ids) const;
  void start_bytes(std::string_view piece, std::vector<int32_t>& symbols) const;
  void start_characters(std::string_view piece, std::vector<int32_t>& symbols) const;
  // Merges the symbols from `first` on. A merge that makes `last` is the end, and is not done.
  void merge(std::vector<int32_t>& ids, size_t first, int32_t last = -1) const;
  void merge_few(std::vector<int32_t>& ids, size_t first, int32_t last) const;
  void merge_many(std::vector<int32_t>& ids, size_t first, int32_t last) const;
  void find_parts_of_unused();
  void cut_unused(std::vector<int32_t>& ids, size_t first) const;

  MergeTable merges_;
  Options options_;
  PieceCaches caches_;
  // No token has the symbol of a space behind another character, so that no merge leaves a word.
  bool words_are_apart_ = false;
  const Vocabulary& lookup() const {
    return options_.symbols == Symbols::kByteLevel ? bytes_ : vocabulary_;
  }
  Vocabulary bytes_;               // the tokens as bytes (kByteLevel)
  std::vector<int32_t> byte_ids_;  // -1 where a byte is no token
  std::vector<int32_t> fallback_;  // ids of "<0x00>" to "<0xFF>", or -1
  std::unordered_map<int32_t, std::vector<int32_t>> parts_of_unused_;
};

// Pairs of characters that stand side by side in the tokens of a vocabulary: no token reaches over
// the border between two others.

/// Returns the bytes of a character of valid UTF-8 by its first one.
inline size_t character_size(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

class CharacterPairs {
 public:
  /// Adds the pairs of a token, which is not empty.
  void add_all(std::string_view token) {
    words_are_apart_ = words_are_apart_ && !has_inner_space(token);
    for (size_t at = 0, next; (next = at + character_size(token[at])) < token.size(); at = next) {
      const size_t slot = slot_of(character(token, at), character(token, next));
      bits_[slot / 64] |= uint64_t{1} << slot % 64;
    }
  }

  /// True if no token has the symbol of a space behind another character.
  bool words_are_apart() const { return words_are_apart_; }

  /// Returns the end of the characters from `begin` on of which each is a pair with the next. A few
  /// of the pairs were not added, but none of those lies between words that are apart.
  size_t end_of_stretch(std::string_view text, size_t begin) const {
    uint32_t left = character(text, begin);
    for (size_t at = begin + character_size(text[begin]); at < text.size();) {
      const uint32_t right = character(text, at);
      if (!may_hold(left, right)) return at;
      left = right;
      at += character_size(text[at]);
    }
    return text.size();
  }

 private:
  static constexpr int kSlotBits = 17;
  static constexpr uint32_t kSpace = 0xe29681;  // kMetaSpace
  bool may_hold(uint32_t left, uint32_t right) const {
    if (words_are_apart_ && right == kSpace && left != kSpace) return false;
    const size_t slot = slot_of(left, right);
    return bits_[slot / 64] >> slot % 64 & 1;
  }
  // The bytes of a character, as a number.
  static uint32_t character(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return uint32_t{static_cast<uint8_t>(text[at + i])}; };
    uint32_t out = byte(0);
    const size_t size = std::min(character_size(text[at]), text.size() - at);
    for (size_t i = 1; i < size; ++i) out = out << 8 | byte(i);
    return out;
  }
  static size_t slot_of(uint32_t left, uint32_t right) {
    return (left * 0x9e3779b1u ^ right) * 0x85ebca77u >> (32 - kSlotBits);
  }

  bool words_are_apart_ = true;
  std::vector<uint64_t> bits_ = std::vector<uint64_t>((size_t{1} << kSlotBits) / 64);
};

}  // namespace axle
