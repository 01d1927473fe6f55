#include "data/token_files/packed_window.h"

#include <algorithm>

namespace axle {

PackedWindow::PackedWindow(const PackedRows& rows) {
  begins_.reserve(static_cast<size_t>(rows.num_rows()) + 1);
  begins_.push_back(0);
  for (int64_t i = 0; i < rows.num_rows(); ++i) {
    for (const RowPart& part : rows.row(i)) {
      if (part.from > 0) cuts_.push_back({static_cast<uint32_t>(documents_.size()), part.from});
      documents_.push_back(static_cast<uint16_t>(part.document));
    }
    begins_.push_back(static_cast<uint32_t>(documents_.size()));
  }
  documents_.shrink_to_fit();
  cuts_.shrink_to_fit();
}

std::vector<PackedWindow::Part> PackedWindow::row(int64_t i) const {
  const uint32_t begin = begins_[static_cast<size_t>(i)], end = begins_[static_cast<size_t>(i) + 1];
  auto cut = std::ranges::lower_bound(cuts_, begin, {}, &Cut::part);
  std::vector<Part> out;
  for (uint32_t part = begin; part < end; ++part) {
    const bool is_cut = cut != cuts_.end() && cut->part == part;
    out.push_back({documents_[part], is_cut ? cut->from : 0});
    if (is_cut) ++cut;
  }
  return out;
}

int64_t PackedWindow::num_bytes() const {
  return static_cast<int64_t>(sizeof(*this) + begins_.capacity() * sizeof(begins_[0]) +
                              documents_.capacity() * sizeof(documents_[0]) +
                              cuts_.capacity() * sizeof(cuts_[0]));
}

}  // namespace axle
