#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/error.h"
#include "data/random.h"
#include "data/token_files/token_rows.h"

namespace axle {
namespace {

// The documents that are held out, as the class describes it, without its short cuts.
std::set<int64_t> held_out(int64_t num_documents, double fraction) {
  const auto before = [&](int64_t document) {
    auto held = static_cast<int64_t>(std::floor(static_cast<double>(document) * fraction + 0.5));
    if (document == num_documents && document > 1 && fraction > 0)
      held = std::clamp<int64_t>(held, 1, document - 1);
    return held;
  };
  std::set<int64_t> out;
  for (int64_t begin = 0; begin < num_documents; begin += 100) {
    const int64_t end = std::min(begin + 100, num_documents);
    std::vector<std::pair<uint64_t, int64_t>> lots;
    for (int64_t i = begin; i < end; ++i)
      lots.emplace_back(mix_seed(21, static_cast<uint64_t>(i)), i);
    std::ranges::sort(lots);
    for (int64_t k = 0; k < before(end) - before(begin); ++k) out.insert(lots[k].second);
  }
  return out;
}

TEST(SplitDocuments, DocumentsAreInTheirSplitInOrder) {
  for (const int64_t count : {2, 3, 64, 65, 99, 100, 101, 163, 164, 5432, 20'000}) {
    for (const double fraction : {1e-6, 0.003, 0.05, 0.31, 0.64, 0.999}) {
      const std::set<int64_t> held = held_out(count, fraction);
      for (const Split split : {Split::kTrain, Split::kHeldOut, Split::kAll}) {
        const SplitDocuments documents(count, split, fraction, "x");
        std::vector<int64_t> expected, found;
        for (int64_t i = 0; i < count; ++i) {
          if (split == Split::kAll || held.contains(i) == (split == Split::kHeldOut))
            expected.push_back(i);
        }
        ASSERT_EQ(documents.count(), std::ssize(expected)) << count << " " << fraction;
        for (int64_t i = 0; i < documents.count(); ++i) found.push_back(documents.at(i));
        EXPECT_EQ(found, expected) << count << " " << fraction;
      }
    }
  }
}

// More documents than are kept in memory: the same choice for the same block.
TEST(SplitDocuments, ManyDocuments) {
  constexpr int64_t kMany = int64_t{1} << 33, kFew = 1'000'000;
  const SplitDocuments many(kMany, Split::kTrain, 0.05, "x"), few(kFew, Split::kTrain, 0.05, "x");
  for (int64_t i = 0; i < 950'000; i += 777) EXPECT_EQ(many.at(i), few.at(i));
  int64_t last = -1;
  for (int64_t i = many.count() - 1000; i < many.count(); ++i) {
    EXPECT_GT(many.at(i), last);
    last = many.at(i);
  }
  EXPECT_LT(last, kMany);
  EXPECT_GE(last, kMany - 100);
}

}  // namespace
}  // namespace axle
