#include <gtest/gtest.h>

#include <algorithm>

#include "data/random.h"
#include "data/token_files/token_rows.h"

namespace axle {
namespace {

// What a window keeps, with the lengths of its documents, is what pack_rows() says.
TEST(PackedWindow, KeepsEveryRow) {
  for (const Packing packing :
       {Packing::kCut, Packing::kWhole, Packing::kBestFit, Packing::kPairs}) {
    for (const int64_t longest : {3, 40, 500}) {
      constexpr int64_t kSeqLen = 64;
      std::vector<int64_t> positions;
      for (uint64_t i = 0; i < PackedWindow::kMostDocuments; ++i) {
        const int64_t most = packing == Packing::kPairs ? std::min(longest, kSeqLen / 2) : longest;
        positions.push_back(static_cast<int64_t>(mix_seed(7, i)) & INT64_MAX);
        positions.back() %= most + 1;
      }
      const PackedRows rows = pack_rows(positions, kSeqLen, packing);
      const PackedWindow window(rows);
      for (int64_t i = 0; i < rows.num_rows(); ++i) {
        std::vector<RowPart> parts;
        int64_t filled = 0;
        for (const auto& [document, from] : window.row(i)) {
          const int64_t left = positions[document] - from;
          const int64_t count = std::min(left, kSeqLen - filled);
          parts.push_back({document, from, static_cast<int32_t>(count)});
          filled += count;
        }
        const auto expected = rows.row(i);
        ASSERT_TRUE(std::ranges::equal(parts, expected)) << to_text(packing) << " row " << i;
      }
      EXPECT_LT(window.num_bytes(), rows.num_bytes() / 2);
    }
  }
}

}  // namespace
}  // namespace axle
