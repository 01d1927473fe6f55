#include "nn/param.h"

#include <gtest/gtest.h>

namespace axle {
namespace {

TEST(ParamSpec, TypeAndPartitionFollowTheFields) {
  const ParamSpec spec{.shape = {4, 6}, .mesh_axes = {{"data", "fsdp"}, "model"}, .init = Ones{}};
  EXPECT_EQ(spec.type(), (Type{DType::kF32, {4, 6}}));
  EXPECT_EQ(to_text(spec.partition()), "[[data, fsdp], model]");
  ParamSpec narrow = spec;
  narrow.dtype = DType::kBF16;
  EXPECT_EQ(narrow.type(), (Type{DType::kBF16, {4, 6}}));
}

TEST(ParamSpec, InitialiserKnowsShapeAndFans) {
  ParamSpec spec{
      .shape = {4, 6}, .init = VarianceScaling{.fan = Fan::kIn}, .fan = {.in = {0}, .out = {1}}};
  EXPECT_EQ(spec.initialiser().text, "uniform(0, 1.0 / fan_in)");
  spec.init = Init(Constant{.value = 3});
  EXPECT_EQ(spec.initialiser().text, "constant(3.0)");
}

}  // namespace
}  // namespace axle
