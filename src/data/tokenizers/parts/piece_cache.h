// The ids of pieces that came before: most pieces of a text are words that come again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

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
    float note = 0;  // of the model, which may tell by it when the ids hold
    int32_t numbers[10];

    std::span<const int32_t> ids() const { return {numbers, num_ids}; }
  };

  /// Appends the ids of a piece, which anew(piece, ids) appends if they are not known.
  template <class F>
  void encode(std::string_view piece, std::vector<int32_t>& ids, F&& anew) {
    if (piece.size() > kMaxBytes) return anew(piece, ids);
    const uint64_t hash = xxh3_64(piece);
    if (const Entry* const known = find(piece, hash)) {
      ids.insert(ids.end(), known->ids().begin(), known->ids().end());
      return;
    }
    const size_t first = ids.size();
    anew(piece, ids);
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
                   F&& anew) {
  if (auto* const lease = static_cast<PieceCaches::Lease*>(scratch))
    lease->cache().encode(piece, ids, anew);
  else
    anew(piece, ids);
}

}  // namespace axle
