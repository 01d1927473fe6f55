#include "data/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/synthetic_input.h"

namespace axle {
namespace {

using ::testing::ThrowsMessage;

// Counts up; throws at `bad` and ends at `end`.
class Counter final : public Input {
 public:
  Counter(int64_t end, int64_t bad) : end_(end), bad_(bad) {}
  Tree<Type> element_spec() const override { return {}; }
  std::optional<Batch> next() override {
    if (at_ == bad_) throw DataError("broken at " + std::to_string(at_));
    if (at_ == end_) return std::nullopt;
    Batch batch;
    batch.num_targets = at_++;
    ++made_;
    return batch;
  }
  std::string state() const override { return std::to_string(at_); }
  void restore(std::string_view state) override {
    if (state == "bad") throw DataError("no such state");
    at_ = std::stoll(std::string(state));
  }
  static inline std::atomic<int64_t> made_ = 0;

 private:
  int64_t at_ = 0, end_, bad_;
};

Prefetcher prefetcher(int64_t depth, int64_t end, int64_t bad = -1) {
  return {std::make_unique<Counter>(end, bad), depth};
}

TEST(Prefetcher, EndsWhereTheInputEndsAndStaysThere) {
  auto input = prefetcher(3, 10);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(input.next()->num_targets, i);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(input.next().has_value());
  EXPECT_EQ(input.state(), "10");
}

TEST(Prefetcher, ErrorsRepeatAfterTheBatchesBeforeThem) {
  auto input = prefetcher(8, 100, 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(input.next()->num_targets, i);
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT([&] { input.next(); }, ThrowsMessage<DataError>("broken at 4"));
  EXPECT_EQ(input.state(), "4");
}

TEST(Prefetcher, StateBelongsToTheLastBatchReturned) {
  auto input = prefetcher(5, 1000);
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(input.state(), std::to_string(i));
    input.next();
  }
}

TEST(Prefetcher, RestoresFromAnywhereEvenAfterTheEndOrAnError) {
  auto input = prefetcher(4, 20, 15);
  input.restore("14");
  EXPECT_EQ(input.next()->num_targets, 14);
  EXPECT_THROW(input.next(), DataError);
  input.restore("18");
  EXPECT_EQ(input.next()->num_targets, 18);
  input.next();
  EXPECT_FALSE(input.next().has_value());
  input.restore("3");
  EXPECT_EQ(input.next()->num_targets, 3);
}

TEST(Prefetcher, ARefusedRestoreChangesNothing) {
  auto input = prefetcher(4, 100);
  input.next();
  input.next();
  EXPECT_THAT([&] { input.restore("bad"); }, ThrowsMessage<DataError>("no such state"));
  EXPECT_EQ(input.state(), "2");
  EXPECT_EQ(input.next()->num_targets, 2);
}

TEST(Prefetcher, StaysWithinItsDepth) {
  Counter::made_ = 0;
  {
    auto input = prefetcher(3, 1000);
    for (int i = 0; i < 50; ++i) {
      input.next();
      EXPECT_LE(Counter::made_, i + 1 + 3);
    }
  }
  const int64_t made = Counter::made_;  // the thread has ended with the prefetcher
  EXPECT_LE(made, 53);
}

TEST(Prefetcher, DestructorStopsTheThreadAtAnyTime) {
  for (int i = 0; i < 200; ++i) {
    auto input = prefetcher(1 + i % 4, i % 3 ? 1000000 : 2);
    for (int n = 0; n < i % 5; ++n) input.next();
  }
}

}  // namespace
}  // namespace axle
