// Byte-pair encoding: adjacent tokens are merged, the best pair first.
//
// Source: Sennrich et al. 2016, arXiv 1508.07909, section 3.2.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "data/tokenizers/parts/piece_cache.h"
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
  // Most pairs can't be merged. These bits, four for each slot, tell it of most of them without a
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
    /// A piece that is a token becomes that token, whatever the merges make of it.
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
    /// two that they were made of. Those of one character stay.
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
  void encode_anew(std::string_view piece, std::vector<int32_t>& ids) const;
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

}  // namespace axle
