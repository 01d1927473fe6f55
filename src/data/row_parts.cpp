#include "data/row_parts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace axle {
namespace {

PackedRows pack_in_order(std::span<const int64_t> num_positions, int64_t seq_len, Packing packing) {
  PackedRows out;
  int64_t filled = 0;
  const auto end_row = [&] {
    out.end_row();
    filled = 0;
  };
  for (size_t i = 0; i < num_positions.size(); ++i) {
    const int64_t count = num_positions[i];
    const bool begins_row = packing == Packing::kWhole   ? filled + count > seq_len
                            : packing == Packing::kPairs ? i % 2 == 0
                                                         : false;
    if (begins_row && filled > 0) end_row();
    for (int64_t from = 0; from < count;) {
      const int64_t taken = std::min(count - from, seq_len - filled);
      out.add_to_row(
          {static_cast<int64_t>(i), static_cast<int32_t>(from), static_cast<int32_t>(taken)});
      from += taken;
      filled += taken;
      if (filled == seq_len) end_row();
    }
  }
  if (filled > 0) end_row();
  return out;
}

PackedRows pack_best_fit(std::span<const int64_t> num_positions, int64_t seq_len) {
  PackedRows out;
  std::vector<RowPart> rests;
  for (size_t i = 0; i < num_positions.size(); ++i) {
    const auto document = static_cast<int64_t>(i);
    int64_t from = 0;
    for (; num_positions[i] - from >= seq_len; from += seq_len) {
      out.add_to_row({document, static_cast<int32_t>(from), static_cast<int32_t>(seq_len)});
      out.end_row();
    }
    const int64_t rest = num_positions[i] - from;
    if (rest > 0)
      rests.push_back({document, static_cast<int32_t>(from), static_cast<int32_t>(rest)});
  }
  std::ranges::stable_sort(rests, std::greater(), &RowPart::count);
  std::vector<std::vector<RowPart>> rows;
  std::set<std::pair<int64_t, size_t>> room;  // free positions, and the row
  for (const RowPart& part : rests) {
    auto best = room.lower_bound({part.count, 0});
    size_t row = rows.size();
    int64_t left = seq_len;
    if (best == room.end()) {
      rows.emplace_back();
    } else {
      left = best->first;
      row = best->second;
      room.erase(best);
    }
    rows[row].push_back(part);
    if (left > part.count) room.emplace(left - part.count, row);
  }
  for (const std::vector<RowPart>& row : rows) {
    for (const RowPart& part : row) out.add_to_row(part);
    out.end_row();
  }
  return out;
}

}  // namespace

std::span<const RowPart> PackedRows::row(int64_t i) const {
  const auto begin = static_cast<size_t>(begins_[static_cast<size_t>(i)]);
  const auto end = static_cast<size_t>(begins_[static_cast<size_t>(i) + 1]);
  return std::span(parts_).subspan(begin, end - begin);
}

PackedRows pack_rows(std::span<const int64_t> num_positions, int64_t seq_len, Packing packing) {
  if (packing == Packing::kBestFit) return pack_best_fit(num_positions, seq_len);
  return pack_in_order(num_positions, seq_len, packing);
}

}  // namespace axle
