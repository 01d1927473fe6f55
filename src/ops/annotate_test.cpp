#include "ops/annotate.h"

#include "base/error.h"
#include "ops/create.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::counting;
using testing::run;
using testing::run_all;

TEST(Annotate, ValuesAreUnchanged) {
  const HostTensor x = counting({2, 3});
  EXPECT_EQ(run([](const Values& v) { return name(v[0], "tag"); }, {x}), x);
  EXPECT_EQ(run([](const Values& v) { return stop_gradient(v[0]); }, {x}), x);
  EXPECT_EQ(run([](const Values& v) { return sharding_constraint(v[0], {{{"data"}}}); }, {x}), x);
}

TEST(Annotate, BarrierKeepsEachOperandAndItsType) {
  const HostTensor a = counting({2}), b = counting({3}, DType::kI32);
  const auto y = run_all([](const Values& v) { return optimization_barrier(v); }, {a, b});
  ASSERT_EQ(y.size(), 2);
  EXPECT_EQ(y[0], a);
  EXPECT_EQ(y[1], b);
  EXPECT_TRUE(optimization_barrier({}).empty());
}

TEST(Annotate, TagIsFoundOnNameOpsAlone) {
  Region region;
  const TraceScope scope(region);
  const Tensor x = zeros({2});
  EXPECT_EQ(tag_of(*name(x, "q_proj").node()), "q_proj");
  EXPECT_EQ(tag_of(*x.node()), "");
  EXPECT_EQ(tag_of(*stop_gradient(x).node()), "");
}

TEST(Annotate, SpecMustFit) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THROW(sharding_constraint(zeros({2}), {{"data", "model"}}), ShapeError);
}

}  // namespace
}  // namespace axle
