// The coordinate check of MuP at widths from 64 to 1024.
#include "recipes/mup_coordinates_test.h"
#include "testing/test_name.h"

namespace axle {
namespace {

class WideCoordinates : public MuPCoordinates, public ::testing::WithParamInterface<std::string> {};

TEST_P(WideCoordinates, KeepTheirSize) {
  const Coordinates base = coordinates(prepared(GetParam(), 1), 1);
  for (const int64_t factor : {2, 4, 8, 16}) {
    SCOPED_TRACE(factor);
    expect_same_size(coordinates(prepared(GetParam(), factor), 1), base, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, WideCoordinates,
                         ::testing::Values("envy-test-bytes", "qwen3-test", "gemma3-test",
                                           "mixtral-test", "deepseek-v3-test",
                                           "deepseek-v3-test-mtp", "mamba2-test"),
                         kNamedByText);

}  // namespace
}  // namespace axle
