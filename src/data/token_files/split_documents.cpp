#include "data/token_files/split_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text/units.h"
#include "data/random.h"

namespace axle {
namespace {

// Fixed for ever: other values would mix up the splits of older runs.
constexpr uint64_t kBlockChoice = 21;
constexpr int64_t kBlock = 100;

}  // namespace

SplitDocuments::SplitDocuments(int64_t num_documents, Split split, double fraction,
                               std::string_view where)
    : num_documents_(num_documents), split_(split), fraction_(fraction) {
  if (count() > 0) return;
  throw DataError(
      fmt::format("{}: expected enough documents for the split '{}', got {}; change "
                  "held_out_fraction ({})",
                  where, to_text(split), counted(num_documents, "document"), fraction));
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

int64_t SplitDocuments::at(int64_t i) const {
  if (split_ == Split::kAll) return i;
  int64_t low = 0, high = (num_documents_ + kBlock - 1) / kBlock;  // the block lies in [low, high)
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (before(middle * kBlock) <= i ? low : high) = middle;
  }
  const int64_t begin = low * kBlock, end = std::min(begin + kBlock, num_documents_);
  std::array<std::pair<uint64_t, int64_t>, kBlock> lots;
  const auto size = static_cast<size_t>(end - begin);
  for (size_t k = 0; k < size; ++k)
    lots[k] = {mix_seed(kBlockChoice, static_cast<uint64_t>(begin) + k),
               begin + static_cast<int64_t>(k)};
  const int64_t num_held = held_before(end) - held_before(begin);
  std::sort(lots.begin(), lots.begin() + size);
  const auto middle = lots.begin() + num_held;
  const auto first = split_ == Split::kHeldOut ? lots.begin() : middle;
  const auto last = split_ == Split::kHeldOut ? middle : lots.begin() + size;
  const auto wanted = first + (i - before(begin));
  std::nth_element(first, wanted, last,
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return wanted->second;
}

}  // namespace axle
