// The role TokenModel: a piece of text to ids; models whose vocabulary holds words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "data/tokenizers/parts/byte_level.h"

namespace axle {

/// Tokens with their ids, which need not be without gaps.
class Vocabulary {
 public:
  /// A file of at most 64 MiB can't have larger ids.
  static constexpr int64_t kMaxId = (int64_t{1} << 24) - 1;

  /// Adds a token. If the token was added before, it gets the new id, and keeps the old one.
  void add(std::string token, int32_t id);
  std::optional<int32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Returns the token of the id; nullptr if it has none.
  const std::string* token(int64_t id) const;
  /// Returns the number of different tokens.
  int64_t num_tokens() const { return std::ssize(ids_); }
  /// Returns the largest id plus one.
  int64_t end_id() const { return std::ssize(by_id_); }

 private:
  std::deque<std::string> tokens_;  // stable addresses
  std::vector<const std::string*> by_id_;
  std::unordered_map<std::string_view, int32_t> ids_;
};

/// Converts pieces of text to ids. Immutable after construction.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Memory of the calls for one text of the given size.
  struct Scratch {
    virtual ~Scratch() = default;
  };
  virtual std::unique_ptr<Scratch> make_scratch(size_t) const { return nullptr; }
  /// Appends the ids of a piece, which is valid UTF-8 and not empty. `scratch` may be nullptr.
  virtual void encode(std::string_view piece, Scratch* scratch,
                      std::vector<int32_t>& ids) const = 0;
  /// Returns the memory that encode() takes for each byte of a long piece: for its symbols, and for
  /// what may be made of them. Measured.
  virtual int64_t piece_bytes() const = 0;
  /// True if encode() cuts a piece at the symbols of its spaces.
  virtual bool cuts_words() const { return false; }
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;

  Vocabulary vocabulary_;
};

/// Longer tokens are refused: the time that a text takes may grow with its longest token.
inline constexpr size_t kMaxTokenBytes = 1024;

/// U+2581 stands for a space in tokens.
inline constexpr std::string_view kMetaSpace = "\xe2\x96\x81";
/// True if the text has the symbol of a space behind another character.
bool has_inner_space(std::string_view text);

/// Returns "<0x0A>", the name that vocabularies with byte fallback have for a byte.
std::string byte_token(uint8_t byte);
/// Returns the byte of such a name; none for other tokens.
std::optional<uint8_t> byte_of_token(std::string_view token);

/// A table with one piece in a slot, which another one replaces. For one thread at a time.
class PieceCache {
 public:
  static constexpr size_t kMaxBytes = 48;  // longer pieces rarely come again

  /// `num_slots` is a power of two.
  explicit PieceCache(size_t num_slots) : entries_(num_slots) {}
  size_t num_slots() const { return entries_.size(); }

  struct Entry {
    uint64_t hash = 0;
    uint8_t size = 0, num_ids = 0;
    char text[kMaxBytes];
    float note = 0;  // of the model, which may decide by it when the ids hold
    int32_t numbers[10];

    std::span<const int32_t> ids() const { return {numbers, num_ids}; }
  };

  /// Appends the ids of a piece, which encode_uncached(piece, ids) appends if they are not known.
  template <class F>
  void encode(std::string_view piece, std::vector<int32_t>& ids, F&& encode_uncached) {
    if (piece.size() > kMaxBytes) return encode_uncached(piece, ids);
    const uint64_t hash = xxh3_64(piece);
    if (const Entry* const known = find(piece, hash)) {
      ids.insert(ids.end(), known->ids().begin(), known->ids().end());
      return;
    }
    const size_t first = ids.size();
    encode_uncached(piece, ids);
    put(piece, hash, std::span<const int32_t>(ids).subspan(first));
  }

  /// Returns what is known of a piece of at most kMaxBytes with this xxh3_64; nullptr if nothing
  /// is.
  const Entry* find(std::string_view piece, uint64_t hash) const {
    const Entry& entry = entries_[hash & (entries_.size() - 1)];
    const bool is_known = entry.hash == hash && std::string_view(entry.text, entry.size) == piece;
    return is_known ? &entry : nullptr;
  }
  /// Keeps the ids of such a piece if they are few.
  void put(std::string_view piece, uint64_t hash, std::span<const int32_t> ids, float note = 0) {
    Entry& entry = entries_[hash & (entries_.size() - 1)];
    if (ids.size() > std::size(entry.numbers)) return;
    entry.hash = hash;
    entry.size = static_cast<uint8_t>(piece.size());
    entry.num_ids = static_cast<uint8_t>(ids.size());
    entry.note = note;
    std::ranges::copy(piece, entry.text);
    std::ranges::copy(ids, entry.numbers);
  }

 private:
  std::vector<Entry> entries_;
};

/// The caches of a model, one for each thread that encodes at the same time. They stay from text to
/// text.
class PieceCaches {
 public:
  /// A cache for the time of a text.
  class Lease final : public TokenModel::Scratch {
   public:
    Lease(const PieceCaches& owner, std::unique_ptr<PieceCache> lent)
        : owner_(owner), cache_(std::move(lent)) {}
    ~Lease() override { owner_.take_back(std::move(cache_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    PieceCache& cache() { return *cache_; }

   private:
    const PieceCaches& owner_;
    std::unique_ptr<PieceCache> cache_;
  };

  /// A small text needs no large cache, but gets one that is there.
  std::unique_ptr<TokenModel::Scratch> lend(size_t text_bytes) const {
    const size_t wanted = std::bit_floor(std::clamp<size_t>(text_bytes / 2, 16, 1 << 13));
    std::unique_ptr<PieceCache> out;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        out = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!out || out->num_slots() < wanted) out = std::make_unique<PieceCache>(wanted);
    return std::make_unique<Lease>(*this, std::move(out));
  }

 private:
  void take_back(std::unique_ptr<PieceCache> cache) const {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(cache));
  }
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<PieceCache>> free_;
};

/// Appends the ids of a piece by the cache of `scratch`, if there is one.
template <class F>
void encode_cached(TokenModel::Scratch* scratch, std::string_view piece, std::vector<int32_t>& ids,
                   F&& encode_uncached) {
  if (auto* const lease = static_cast<PieceCaches::Lease*>(scratch))
    lease->cache().encode(piece, ids, encode_uncached);
  else
    encode_uncached(piece, ids);
}

/// A word is its longest beginning that is a token, then the longest continuations, which stand in
/// the vocabulary behind a prefix such as "##". A word that can't be covered is one unknown token.
///
/// Source: Wu et al. 2016, arXiv 1609.08144, section 4.1.
class WordPieceModel final : public TokenModel {
 public:
  struct Options {
    int32_t unknown = 0;
    std::string continuing_prefix = "##";
    /// Longer words are unknown.
    int64_t max_characters = 100;
  };
  WordPieceModel(Vocabulary vocabulary, Options options);
  void encode(std::string_view piece, Scratch* scratch, std::vector<int32_t>& ids) const override {
    encode_cached(scratch, piece, ids, [this](std::string_view text, std::vector<int32_t>& out) {
      encode_uncached(text, out);
    });
  }
  std::unique_ptr<Scratch> make_scratch(size_t text_bytes) const override {
    return caches_.lend(text_bytes);
  }
  int64_t piece_bytes() const override { return 0; }

 private:
  void encode_uncached(std::string_view piece, std::vector<int32_t>& ids) const;

  Options options_;
  ByteTrie beginnings_, continuations_;  // the latter without the prefix
  PieceCaches caches_;
};

/// A word is a token or unknown; unknown words are dropped if there is no token for them.
class WordLevelModel final : public TokenModel {
 public:
  WordLevelModel(Vocabulary vocabulary, std::optional<int32_t> unknown)
      : TokenModel(std::move(vocabulary)), unknown_(unknown) {}
  void encode(std::string_view piece, Scratch*, std::vector<int32_t>& ids) const override {
    const std::optional<int32_t> id = vocabulary_.find(piece);
    if (id || unknown_) ids.push_back(id ? *id : *unknown_);
  }
  int64_t piece_bytes() const override { return 0; }

 private:
  std::optional<int32_t> unknown_;
};

}  // namespace axle
