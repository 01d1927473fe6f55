// Which parts of which documents share a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/text/enum_text.h"

namespace axle {

/// How documents share rows.
enum class Packing {
  kCut,      // without gaps: a row end cuts the document that crosses it
  kWhole,    // a document that does not fit into the rest of a row begins the next one
  kBestFit,  // a document goes where it leaves the smallest gap; one of more than a row is cut
  kPairs,    // two documents after each other, which must fit, have a row
};
constexpr auto texts_of(Packing) {
  return std::to_array<EnumText<Packing>>({{Packing::kCut, "cut"},
                                           {Packing::kWhole, "whole"},
                                           {Packing::kBestFit, "best_fit"},
                                           {Packing::kPairs, "pairs"}});
}

/// What happens to a document that does not fit into a row.
enum class LongDocuments {
  kSplit,     // it goes on in other rows
  kTruncate,  // its first row is kept; with flags, up to the last answer that ends there
  kSkip,      // it is left out
};
constexpr auto texts_of(LongDocuments) {
  return std::to_array<EnumText<LongDocuments>>({{LongDocuments::kSplit, "split"},
                                                 {LongDocuments::kTruncate, "truncate"},
                                                 {LongDocuments::kSkip, "skip"}});
}

/// `count` positions of a document from its position `from` on.
struct RowPart {
  int64_t document = 0;
  int32_t from = 0, count = 0;
  bool operator==(const RowPart&) const = default;
};

/// The parts of rows, row after row.
class PackedRows {
 public:
  int64_t num_rows() const { return static_cast<int64_t>(begins_.size()) - 1; }
  std::span<const RowPart> row(int64_t i) const;
  int64_t num_bytes() const {
    return static_cast<int64_t>(parts_.capacity() * sizeof(RowPart) +
                                begins_.capacity() * sizeof(int64_t));
  }
  void add_to_row(const RowPart& part) { parts_.push_back(part); }
  void end_row() { begins_.push_back(static_cast<int64_t>(parts_.size())); }

 private:
  std::vector<RowPart> parts_;
  std::vector<int64_t> begins_ = {0};
};

/// Packs documents of so many positions each, below 2^31, into rows of `seq_len`. Every position is
/// in one row. Documents without positions are in none.
///
/// best_fit sorts the documents by length, the longest first, and puts each into the fullest row
/// that has room for it. Source: Ding et al. 2024, arXiv 2404.10830, section 3.
PackedRows pack_rows(std::span<const int64_t> num_positions, int64_t seq_len, Packing packing);

}  // namespace axle
