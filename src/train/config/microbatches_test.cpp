#include "train/config/microbatches.h"

#include <gmock/gmock.h>

#include "config/set.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Microbatches, AreThoseOfTheStep) {
  Trainer::Config config = tiny_config();
  set(config, "input.batch_size", "24");
  Mesh mesh;
  from_text("data=2,fsdp=2,model=2", mesh);
  const auto count = [&] { return train_microbatches(config, mesh).count; };
  EXPECT_EQ(train_microbatches(config, mesh).shares, 4);
  EXPECT_EQ(count(), 1);
  set(config, "learner.device_rows", "2");
  EXPECT_EQ(count(), 3);
  set(config, "learner.microbatches", "6");
  EXPECT_EQ(count(), 6) << "more than one decides alone";
  set(config, "batch_partition", "[]");
  EXPECT_EQ(train_microbatches(config, mesh).shares, 1);
}

TEST(Microbatches, AnyNumberOfRowsCanBeSplitFiner) {
  const auto finer = [](int64_t rows, int64_t shares, int64_t count) {
    return finer_microbatches({.rows = rows, .shares = shares, .count = count});
  };
  EXPECT_THAT(finer(16, 1, 1), ElementsAre(2, 4, 8, 16));
  EXPECT_THAT(finer(16, 4, 1), ElementsAre(2, 4));
  EXPECT_THAT(finer(7, 1, 1), ElementsAre(7));
  EXPECT_THAT(finer(30, 2, 1), ElementsAre(3, 5, 15));
  EXPECT_THAT(finer(24, 2, 3), ElementsAre(4, 6, 12));
  EXPECT_THAT(finer(16, 16, 1), IsEmpty());
  EXPECT_THAT(finer(17, 4, 1), IsEmpty());
  EXPECT_THAT(finer(int64_t{1} << 40, 1, int64_t{1} << 39), ElementsAre(int64_t{1} << 40));
}

TEST(Microbatches, FewerRowsStayEven) {
  const Microbatches batch{.rows = 56, .shares = 8};
  EXPECT_EQ(fewer_rows(batch, 1), 24);
  EXPECT_EQ(fewer_rows(batch, 2), 8);
  EXPECT_EQ(fewer_rows(batch, 3), 0);
}

// Rows beyond those that are computed at once take no memory.
TEST(Microbatches, AnEvaluationWithFewerRowsFits) {
  const auto rows_for = [](const Microbatches& evaluation, double share) {
    return evaluation_rows(evaluation, [&](double of_now) { return of_now <= share; });
  };
  EXPECT_EQ(rows_for({.rows = 64, .shares = 4}, 0.3), 16);
  EXPECT_EQ(rows_for({.rows = 64, .shares = 4, .count = 4}, 0.6), 8);
  EXPECT_EQ(rows_for({.rows = 64, .shares = 4, .count = 16}, 0.9), 0);
  Trainer::Config config = tiny_config();
  set(config, "evalers.held_out.input.batch_size", "49143");
  set(config, "learner.microbatches", "2");
  const auto count = [&] { return evaluation_microbatches(config, "evalers.held_out", {}).count; };
  EXPECT_EQ(count(), 1);
  set(config, "learner.device_rows", "32000");
  EXPECT_EQ(count(), 3);
}

TEST(Microbatches, TheFieldThatMakesThemIsTheOneOfTheConfig) {
  Trainer::Config config = tiny_config();
  const Microbatches batch{.rows = 24, .shares = 2};
  EXPECT_THAT(microbatch_field(config, batch, 4), Pair("learner.device_rows", 3));
  set(config, "learner.device_rows", "6");
  EXPECT_THAT(microbatch_field(config, batch, 4), Pair("learner.device_rows", 3));
  set(config, "learner.microbatches", "2");
  EXPECT_THAT(microbatch_field(config, batch, 4), Pair("learner.microbatches", 4));
}

}  // namespace
}  // namespace axle
