// MuP keeps the size of activations and updates where the table of embeddings is the head.
#include "recipes/mup_coordinates_test.h"
#include "testing/test_name.h"

namespace axle {
namespace {

class RecipeCoordinates : public MuPCoordinates,
                          public ::testing::WithParamInterface<std::string> {};

TEST_P(RecipeCoordinates, KeepTheirSize) {
  const Coordinates base = coordinates(prepared(GetParam(), 1), 1);
  expect_same_size(coordinates(prepared(GetParam(), 4), 1), base, 2.5);
}

INSTANTIATE_TEST_SUITE_P(Families, RecipeCoordinates, ::testing::Values("quickstart"),
                         kNamedByText);

}  // namespace
}  // namespace axle
