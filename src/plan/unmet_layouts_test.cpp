#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "plan/compile_report.h"
#include "transform/remat/remat.h"
#include "transform/trace.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> unmet(const Shape& shape, const PartitionSpec& spec) {
  const auto layer = [&](const Values& x) {
    const NameScope scope("model/layer");
    return Values{sharding_constraint(sin(sharding_constraint(x[0], spec)), spec)};
  };
  const auto graph = trace([&](const Values& x) { return remat(layer, x, save_nothing()); },
                           {{DType::kF32, shape}});
  return unmet_layouts(*graph, Mesh{{{"data", 2}, {"seq", 4}, {"model", 8}}});
}

TEST(UnmetLayouts, NameTheLayerOnceAndTheDimThatDoesNotDivide) {
  EXPECT_THAT(
      unmet({8, 30, 8}, {{"data", "seq", "model"}}),
      ElementsAre("model/layer: expected dim 1 of [8, 30, 8] to divide over seq = 4 devices, got "
                  "30; it is divided into 1, so groups of 4 devices do the same work"));
  EXPECT_THAT(
      unmet({4, 8}, {{{"data", "seq"}}}),
      ElementsAre("model/layer: expected dim 0 of [4, 8] to divide over [data, seq] = 8 devices, "
                  "got 4; it is divided into 2, so groups of 4 devices do the same work"));
}

TEST(UnmetLayouts, AreEmptyIfAllDimsDivide) {
  EXPECT_THAT(unmet({8, 32, 8}, {{"data", "seq", "model"}}), IsEmpty());
  EXPECT_THAT(unmet({7, 5}, {{"fsdp"}}), IsEmpty());  // the mesh has no axis fsdp
}

}  // namespace
}  // namespace axle
