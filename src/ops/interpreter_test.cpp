// When the interpreter moves its results out, and what it copies.
#include <map>
#include <vector>

#include "ops/ops.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::elements;
using ::testing::ElementsAre;
using ::testing::Pair;

HostTensor value(float x) { return HostTensor({1}, {x}); }

TEST(EvaluateEach, ReturnsAResultBeforeLaterOpsRun) {
  Region region;
  const TraceScope trace(region);
  const Tensor kept = region.add_parameter({DType::kF32, {1}}),
               read = region.add_parameter({DType::kF32, {1}});
  const Tensor sum = read + 1, product = sum * 2, last = -sum;
  region.set_results({last, read, kept, product, kept, sum});
  std::vector<size_t> order;
  std::map<size_t, float> results;
  const auto take = [&](size_t i, const HostTensor& result) {
    order.push_back(i);
    results[i] = result.values<float>()[0];
  };
  evaluate_each(region, {value(7), value(3)}, take);
  EXPECT_THAT(results,
              ElementsAre(Pair(0, -4), Pair(1, 3), Pair(2, 7), Pair(3, 8), Pair(4, 7), Pair(5, 4)));
  // Arguments that no op reads first, then each after the last op that reads it.
  EXPECT_THAT(order, ElementsAre(2, 4, 1, 3, 5, 0));
}

TEST(EvaluateEach, LargeResultsThatArePassedOnAreNotCopied) {
  Region region;
  const TraceScope trace(region);
  const Tensor x = region.add_parameter({DType::kF32, {1}});
  region.set_results({x});
  std::vector<HostTensor> arguments = {value(7)};
  const void* const where = arguments[0].bytes().data();
  const void* taken = nullptr;
  evaluate_each(region, std::move(arguments),
                [&](size_t, const HostTensor& result) { taken = result.bytes().data(); });
  EXPECT_EQ(taken, where);
}

TEST(Evaluate, BorrowedArgumentsStayAsTheyAre) {
  Region region;
  const TraceScope trace(region);
  const Tensor x = region.add_parameter({DType::kF32, {1}});
  region.set_results({x, -x});
  const HostTensor argument = value(7);
  const HostTensor* const arguments[] = {&argument};
  const std::vector<HostTensor> results = evaluate_borrowing(region, arguments);
  EXPECT_EQ(results[0], argument);
  EXPECT_THAT(elements(results[1]), ElementsAre(-7));
  EXPECT_THAT(elements(argument), ElementsAre(7));
}

}  // namespace
}  // namespace axle
