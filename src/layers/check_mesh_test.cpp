#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "testing/error_of.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

const Mesh kMesh{{{"data", 2}, {"rows", 4}}};

std::string error_with(const PartitionSpec& spec) {
  const auto layer = [&](const Values& x) {
    const NameScope scope("model/layer");
    return Values{sharding_constraint(sin(x[0]), spec)};
  };
  const auto graph = trace([&](const Values& x) { return remat(layer, x, save_nothing()); },
                           {{DType::kF32, {8, 8}}});
  return error_of([&] { check_constraints(kMesh, *graph); });
}

TEST(CheckMesh, InputsNameAxesThatExist) {
  const auto error_of_input = [](const PartitionSpec& spec) {
    return error_of([&] {
      check_mesh(kMesh, {{"w", {DType::kF32, {8, 8}}, spec},
                         {"x", {DType::kF32, {8, 8}}, {{"data", "rows"}}}});
    });
  };
  EXPECT_EQ(error_of_input({{"fsdp", "rows"}}), "no error");
  EXPECT_THAT(error_of_input({{"fdsp"}}),
              HasSubstr("w: expected mesh axes in [fdsp], got 'fdsp'; did you mean 'fsdp'?"));
}

TEST(CheckMesh, UnusedAxisIsAnError) {
  EXPECT_THAT(error_of([] {
                check_mesh(kMesh, {{"w", {DType::kF32, {8, 8}}, {{"data"}}}});
              }),
              HasSubstr("mesh.rows: expected an axis that shards parameters or batches"));
}

TEST(CheckMesh, NamedAxesMustHaveTheRoleOfAKnownAxis) {
  const auto error_of_mesh = [](const char* text) {
    Mesh mesh;
    from_text(text, mesh);
    return error_of([&] { check_mesh(mesh, {{"x", {DType::kF32, {8}}, {{{"data", "fsdp"}}}}}); });
  };
  EXPECT_EQ(error_of_mesh("replica:data=2,fsdp=4"), "no error");
  EXPECT_THAT(error_of_mesh("replica=2,fsdp=4"), HasSubstr("as in 'replica:data=2'"));
  EXPECT_THAT(error_of_mesh("replica:dta=2"),
              HasSubstr("mesh.replica:dta: expected the role of a known axis"));
  EXPECT_THAT(error_of_mesh("replica:dta=2"), HasSubstr("did you mean 'data'?"));
  EXPECT_THAT(error_of_mesh("replica:seq=2,fsdp=4"), HasSubstr("would all do the same work"));
}

TEST(CheckMesh, LayersAskForAxesThatExistEachOnce) {
  EXPECT_EQ(error_with({{{"data", "fsdp"}, "rows"}}), "no error");
  EXPECT_EQ(error_with({{"data", kUnconstrained}}), "no error");
  EXPECT_THAT(error_with({{"dta"}}), HasSubstr("model/layer: expected mesh axes in [dta], got "
                                               "'dta'; did you mean 'data'?"));
  EXPECT_THAT(error_with({{"data", "data"}}),
              HasSubstr("model/layer: expected each mesh axis once, got 'data' twice"));
}

}  // namespace
}  // namespace axle
