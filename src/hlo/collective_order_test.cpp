#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/collectives.h"
#include "hlo/proto_test.h"

namespace axle {
namespace {

const ReplicaGroups kAll = {{0, 1}};

// Adds a computation that sums its parameter over all devices; returns its id.
int64_t summing(HloWriter& w, const char* name) {
  const int64_t x = w.parameter(array_shape({8}));
  w.add("all-reduce", array_shape({8}), {x}, grouped(kAll));
  return w.end(name);
}
int64_t quiet(HloWriter& w) {
  w.parameter(array_shape({8}));
  return w.end("quiet");
}

enum class Around { kBefore, kBeside, kBehind };

std::optional<std::pair<std::string, std::string>> unordered(Around around, bool loop_sums) {
  HloWriter w;
  const int64_t body = loop_sums ? summing(w, "body") : quiet(w);
  const int64_t condition = quiet(w);
  const int64_t x = w.parameter(array_shape({8}));
  const auto sum_of = [&](int64_t value) {
    return w.add("all-reduce", array_shape({8}), {value}, grouped(kAll));
  };
  const int64_t start = around == Around::kBehind ? x : sum_of(x);
  const int64_t loop = w.add("while", array_shape({8}), {around == Around::kBefore ? start : x},
                             calls({body, condition}));
  if (around == Around::kBehind) sum_of(w.add("negate", array_shape({8}), {loop}));
  w.end("main");
  return unordered_collectives(read_hlo_module(w.bytes()));
}

TEST(CollectiveOrder, DataOrderCollectivesBeforeAndAfterALoop) {
  EXPECT_FALSE(unordered(Around::kBefore, true));
  EXPECT_FALSE(unordered(Around::kBehind, true));
}

TEST(CollectiveOrder, LoopAndIndependentSumAreUnordered) {
  const auto pair = unordered(Around::kBeside, true);
  ASSERT_TRUE(pair);
  EXPECT_NE(pair->first, pair->second);
}

TEST(CollectiveOrder, LoopsWithoutCollectivesNeedNoOrder) {
  EXPECT_FALSE(unordered(Around::kBeside, false));
}

TEST(CollectiveOrder, CollectivesOfOneComputationAreOrderedByThePlugin) {
  HloWriter w;
  const int64_t x = w.parameter(array_shape({8}));
  for (int i = 0; i < 2; ++i) w.add("all-reduce", array_shape({8}), {x}, grouped(kAll));
  w.end("main");
  EXPECT_FALSE(unordered_collectives(read_hlo_module(w.bytes())));
}

}  // namespace
}  // namespace axle
