// Learns merges of a byte-pair encoding from pieces and their counts: the most frequent pair of
// neighbours becomes a token, again and again.
//
// Source: Sennrich et al. 2016, arXiv 1508.07909, section 3.2.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory_resource>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace axle {

/// Of pairs that are equally frequent, the one with the lower left id comes first, then the one
/// with the lower right id, as in Hugging Face's trainer. The result depends on the pieces and
/// their counts alone.
///
/// Memory: about 12 bytes for each symbol of the different pieces, and 60 for each pair that came
/// up.
class MergeLearner {
 public:
  struct Options {
    /// Tokens to reach, with those at the start.
    int64_t vocab_size = 0;
    /// Pairs that come less often are not merged.
    int64_t min_count = 2;
    /// Longer tokens are not made, in symbols.
    size_t max_symbols = 1024;
    /// Texts that no merge makes.
    std::set<std::string> excluded = {};
  };
  struct Merge {
    int32_t left, right;
  };

  /// `tokens` have the first ids.
  MergeLearner(std::vector<std::string> tokens, Options options);
  /// Adds a piece, as ids of tokens, that comes `count` times.
  void add(std::span<const int32_t> symbols, int64_t count);
  /// Learns until the vocabulary has its size or no pair is frequent enough. Calls report(tokens
  /// so far) now and then.
  void learn(const std::function<void(int64_t)>& report);

  const std::vector<std::string>& tokens() const { return tokens_; }
  /// In the order in which they apply.
  const std::vector<Merge>& merges() const { return merges_; }
  /// Returns the symbols that all pieces have now, as often as they come.
  int64_t num_symbols() const;

 private:
  // A piece; its symbols are in symbols_.
  struct Word {
    size_t begin;
    uint32_t size;
    int64_t count;
  };
  // Two tokens that stand side by side in some pieces.
  struct Pair {
    int32_t left, right;
    bool is_merged = false;
    int64_t count = 0;
    std::span<uint32_t> words = {};  // in which it may stand
  };
  struct Candidate {
    int64_t count;
    int32_t left, right;
    uint32_t pair;
    bool operator<(const Candidate& other) const;  // the queue has the largest on top
  };
  // What stands beside a pair that is merged, by the id of that neighbour.
  struct Neighbours {
    struct Row {
      int64_t count = 0;
      size_t num_words = 0;
      uint32_t last_word = 0;
      uint32_t* next_word = nullptr;
    };
    struct Occurrence {
      int32_t id;
      uint32_t word;
    };
    void add(int32_t id, uint32_t word, int64_t count);
    std::vector<Row> rows = {};     // by id
    std::vector<int32_t> ids = {};  // whose rows are in use
    std::vector<Occurrence> occurrences = {};
  };

  void count_pairs();
  uint32_t pair_of(int32_t left, int32_t right);
  std::span<uint32_t> room_for(Pair& pair, size_t num_words);
  void grow_table();
  void merge(uint32_t best);
  int32_t token_of(const Pair& pair);
  void merge_in(uint32_t word, int32_t left, int32_t right, int32_t id);
  template <class OldPair, class NewPair>
  void update(Neighbours& neighbours, OldPair&& old_pair, NewPair&& new_pair);
  void push(uint32_t pair);

  std::vector<std::string> tokens_;
  Options options_;
  std::vector<size_t> sizes_;  // of the tokens, in symbols
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Merge> merges_;
  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  std::deque<Pair> pairs_;
  std::vector<uint32_t>
      table_;  // a hash table of pairs_, at most half full; 0: free, else 1 + index
  std::priority_queue<Candidate> queue_;
  std::pmr::monotonic_buffer_resource memory_;  // of the words of pairs
  Neighbours before_, after_;
};

/// Different pieces with their counts. Counts are sums: the order in which pieces and tables are
/// added does not matter. Memory: about 90 bytes for each different piece, and its text.
///
/// The pieces are divided by their hashes, so that several threads can add tables to one, each of
/// them one part.
class PieceCounts {
 public:
  static constexpr size_t kParts = 32;

  void add(std::string_view piece) {
    const uint64_t hash = xxh3_64(piece);
    parts_[hash % kParts].add(piece, hash, 1);
  }
  /// Adds one part of another table.
  void add_part(const PieceCounts& other, size_t part);

  int64_t num_pieces() const;
  int64_t num_bytes() const;  // of the texts of all pieces
  /// Calls f(piece, count) for each piece, in no order that means anything.
  template <class F>
  void for_each(F&& f) const {
    for (const Part& part : parts_) {
      for (const Slot& slot : part.slots)
        if (slot.count > 0) f(part.text_of(slot), slot.count);
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    size_t begin = 0;  // in `texts`
    int64_t count = 0;
    uint32_t size = 0;
  };
  struct Part {
    void add(std::string_view piece, uint64_t hash, int64_t count);
    std::string_view text_of(const Slot& slot) const {
      return std::string_view(texts).substr(slot.begin, slot.size);
    }
    void grow();

    std::vector<Slot> slots = {};  // a hash table of a power of two, at most two thirds full
    size_t num_pieces = 0;
    std::string texts = {};
  };
  std::array<Part, kParts> parts_;
};

}  // namespace axle
