#include "data/token_files/split_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/units.h"
#include "data/random.h"

namespace axle {
namespace {

// Fixed for ever: other values would mix up the splits of older runs.
constexpr uint64_t kBlockChoice = 21;
constexpr int64_t kBlock = 100;
constexpr int64_t kMostBlocksInMemory = int64_t{1} << 19;
constexpr int64_t kWordBits = 64;

int64_t blocks_of(int64_t num_documents) { return (num_documents + kBlock - 1) / kBlock; }

// Returns the place of the bit that has n set bits before it.
int64_t place_of_bit(uint64_t word, int64_t n) {
  for (; n > 0; --n) word &= word - 1;
  return std::countr_zero(word);
}

}  // namespace

SplitDocuments::SplitDocuments(int64_t num_documents, Split split, double fraction,
                               std::string_view where, std::string_view advice)
    : num_documents_(num_documents), split_(split), fraction_(fraction) {
  const int64_t blocks = split == Split::kAll ? 0 : blocks_of(num_documents);
  if (blocks <= kMostBlocksInMemory) {
    std::vector<Held> held(static_cast<size_t>(blocks));
    parallel_for(blocks, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block)
        held[static_cast<size_t>(block)] = held_in(block);
    });
    held_ = std::move(held);
  }
  if (count() > 0) return;
  throw DataError(
      fmt::format("{}: expected enough documents for the split '{}', got {}; {}, or change "
                  "held_out_fraction ({})",
                  where, to_text(split), counted(num_documents, "document"), advice, fraction));
}

// Documents that are held out before a document that begins a block, or before the end.
int64_t SplitDocuments::held_before(int64_t document) const {
  const auto held =
      static_cast<int64_t>(std::floor(static_cast<double>(document) * fraction_ + 0.5));
  const bool needs_one = document == num_documents_ && document > 1 && fraction_ > 0;
  return needs_one ? std::clamp<int64_t>(held, 1, document - 1) : held;
}

// Documents of the split before it.
int64_t SplitDocuments::before(int64_t document) const {
  if (split_ == Split::kAll) return document;
  const int64_t held = held_before(document);
  return split_ == Split::kHeldOut ? held : document - held;
}

// Documents of a split lie almost evenly: the block is the one that their share tells, or near it.
int64_t SplitDocuments::block_of(int64_t i) const {
  const int64_t blocks = blocks_of(num_documents_);
  const double share = static_cast<double>(i) / static_cast<double>(count());
  auto block = std::min(static_cast<int64_t>(share * static_cast<double>(blocks)), blocks - 1);
  while (before(block * kBlock) > i) --block;
  while (block + 1 < blocks && before((block + 1) * kBlock) <= i) ++block;
  return block;
}

SplitDocuments::Held SplitDocuments::held_in(int64_t block) const {
  if (!held_.empty()) return held_[static_cast<size_t>(block)];
  const int64_t begin = block * kBlock, end = std::min(begin + kBlock, num_documents_);
  std::array<std::pair<uint64_t, int64_t>, kBlock> lots;
  for (int64_t k = 0; k < end - begin; ++k)
    lots[static_cast<size_t>(k)] = {mix_seed(kBlockChoice, static_cast<uint64_t>(begin + k)), k};
  const auto held = lots.begin() + (held_before(end) - held_before(begin));
  std::nth_element(lots.begin(), held, lots.begin() + (end - begin));
  Held out = {};
  for (auto lot = lots.begin(); lot != held; ++lot)
    out[static_cast<size_t>(lot->second / kWordBits)] |= uint64_t{1} << (lot->second % kWordBits);
  return out;
}

int64_t SplitDocuments::at(int64_t i) const {
  if (split_ == Split::kAll) return i;
  const int64_t block = block_of(i), begin = block * kBlock;
  Held wanted = held_in(block);
  if (split_ == Split::kTrain) {
    for (uint64_t& word : wanted) word = ~word;
  }
  const int64_t before_it = i - before(begin), in_first = std::popcount(wanted[0]);
  if (before_it < in_first) return begin + place_of_bit(wanted[0], before_it);
  return begin + kWordBits + place_of_bit(wanted[1], before_it - in_first);
}

}  // namespace axle
