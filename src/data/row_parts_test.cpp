#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "data/packing.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

std::vector<RowPart> row_of(const PackedRows& rows, int64_t i) {
  const auto row = rows.row(i);
  return {row.begin(), row.end()};
}

TEST(RowParts, CutAndWholePackingKeepTheOrder) {
  const std::vector<int64_t> counts = {3, 0, 4, 1};
  const PackedRows cut = pack_rows(counts, 5, Packing::kCut);
  ASSERT_EQ(cut.num_rows(), 2);
  EXPECT_THAT(row_of(cut, 0), ElementsAre(RowPart{0, 0, 3}, RowPart{2, 0, 2}));
  EXPECT_THAT(row_of(cut, 1), ElementsAre(RowPart{2, 2, 2}, RowPart{3, 0, 1}));
  const PackedRows whole = pack_rows(counts, 5, Packing::kWhole);
  ASSERT_EQ(whole.num_rows(), 2);
  EXPECT_THAT(row_of(whole, 0), ElementsAre(RowPart{0, 0, 3}));
  EXPECT_THAT(row_of(whole, 1), ElementsAre(RowPart{2, 0, 4}, RowPart{3, 0, 1}));
}

TEST(RowParts, BestFitLeavesTheSmallestGaps) {
  const PackedRows rows = pack_rows(std::vector<int64_t>{2, 7, 3, 8, 23}, 10, Packing::kBestFit);
  ASSERT_EQ(rows.num_rows(), 5);
  EXPECT_THAT(row_of(rows, 0), ElementsAre(RowPart{4, 0, 10}));
  EXPECT_THAT(row_of(rows, 1), ElementsAre(RowPart{4, 10, 10}));
  EXPECT_THAT(row_of(rows, 2), ElementsAre(RowPart{3, 0, 8}, RowPart{0, 0, 2}));
  EXPECT_THAT(row_of(rows, 3), ElementsAre(RowPart{1, 0, 7}, RowPart{2, 0, 3}));
  EXPECT_THAT(row_of(rows, 4), ElementsAre(RowPart{4, 20, 3}));
}

// Each position is in one row, no row is overfull, and documents of at most a row stay whole.
TEST(RowParts, EveryPositionIsInOneRow) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto seq_len = static_cast<int64_t>(1 + random() % 40);
    std::vector<int64_t> counts(random() % 60);
    for (int64_t& count : counts) count = static_cast<int64_t>(random() % (round % 2 ? 100 : 20));
    int64_t least_rows = 0;
    for (const int64_t count : counts) least_rows += count;
    least_rows = (least_rows + seq_len - 1) / seq_len;
    for (const Packing packing : {Packing::kCut, Packing::kWhole, Packing::kBestFit}) {
      const PackedRows rows = pack_rows(counts, seq_len, packing);
      std::map<int64_t, std::map<int32_t, int32_t>> parts;  // document -> from -> count
      for (int64_t i = 0; i < rows.num_rows(); ++i) {
        int64_t filled = 0;
        for (const RowPart& part : rows.row(i)) {
          filled += part.count;
          EXPECT_GT(part.count, 0);
          EXPECT_TRUE(parts[part.document].emplace(part.from, part.count).second);
        }
        EXPECT_LE(filled, seq_len);
        EXPECT_GT(filled, 0);
      }
      for (size_t d = 0; d < counts.size(); ++d) {
        int64_t end = 0;
        for (const auto& [from, count] : parts[static_cast<int64_t>(d)]) {
          EXPECT_EQ(from, end);
          end += count;
        }
        EXPECT_EQ(end, counts[d]);
        if (packing != Packing::kCut && counts[d] <= seq_len) {
          EXPECT_LE(parts[static_cast<int64_t>(d)].size(), 1u);
        }
      }
      EXPECT_GE(rows.num_rows(), least_rows);
      if (packing == Packing::kCut) {
        EXPECT_EQ(rows.num_rows(), least_rows);
      }
    }
  }
}

// On lengths as texts have them, best fit wastes hardly anything, and next fit much.
TEST(RowParts, BestFitFillsRows) {
  std::mt19937 random(4);
  std::lognormal_distribution<double> length(5.5, 1);
  std::vector<int64_t> counts(20'000);
  int64_t sum = 0;
  for (int64_t& count : counts) sum += count = 1 + static_cast<int64_t>(length(random));
  const auto share = [&](Packing packing) {
    return static_cast<double>(sum) /
           static_cast<double>(2048 * pack_rows(counts, 2048, packing).num_rows());
  };
  EXPECT_GT(share(Packing::kBestFit), 0.999);
  EXPECT_LT(share(Packing::kWhole), 0.95);
}

}  // namespace
}  // namespace axle
