#include "config/fields/required.h"

#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

static_assert(std::is_convertible_v<int, Required<int64_t>> &&
              !std::is_convertible_v<const char*, Required<int64_t>>);

TEST(Required, ThrowsUntilSet) {
  Required<int64_t> n = REQUIRED;
  EXPECT_FALSE(n.has_value());
  EXPECT_EQ(error_of([&] { n.get(); }),
            "a REQUIRED field was read before it was set; check_complete() names all that are "
            "unset");
  EXPECT_THROW(static_cast<void>(n + 1), ConfigError);
  n = 4;
  EXPECT_EQ(n * 2, 8);
  const Required<Child<Norm>> child = Scale::Config{.factor = 7};
  EXPECT_EQ(child->get_if<Scale>()->factor, 7);
}

TEST(Required, OfANumberWithARangeIsThePlainNumber) {
  const Required<Positive<int64_t>> n = 3;
  const int64_t plain = n;
  EXPECT_EQ(plain, 3);
}

TEST(Required, ItsSlotClearsIt) {
  Required<std::string> name = std::string("a");
  EXPECT_EQ(name->size(), 1u);
  name.slot().reset();
  EXPECT_FALSE(name.has_value());
}

}  // namespace
}  // namespace axle::example
