#include <gtest/gtest.h>

#include "base/text/text.h"
#include "testing/error_of.h"

namespace axle {
namespace {

enum class Fruit { kApple, kPear, kPlum };
constexpr auto texts_of(Fruit) {
  return std::to_array<EnumText<Fruit>>(
      {{Fruit::kPear, "pear"}, {Fruit::kApple, "apple"}, {Fruit::kPlum, "plum"}});
}

TEST(EnumText, ReadsBackWhatItWrites) {
  for (const Fruit fruit : {Fruit::kApple, Fruit::kPear, Fruit::kPlum}) {
    Fruit back{};
    from_text(to_text(fruit), back);
    EXPECT_EQ(back, fruit);
  }
}

TEST(EnumText, OtherTextsAreErrorsAndLeaveTheValue) {
  Fruit fruit = Fruit::kPlum;
  EXPECT_EQ(error_of<ConfigError>([&] { from_text("nut", fruit); }),
            "expected pear, apple or plum, got 'nut'");
  EXPECT_EQ(error_of<ConfigError>([&] { from_text("a\nb", fruit); }),
            R"(expected pear, apple or plum, got 'a\x0ab')");
  EXPECT_EQ(fruit, Fruit::kPlum);
}

enum class Size { kSmall, kLarge };
constexpr auto texts_of(Size) {
  return std::to_array<EnumText<Size>>({{Size::kSmall, "small", "tiny"}, {Size::kLarge, "large"}});
}

TEST(EnumText, AFormerTextIsReadButNeverWritten) {
  Size size = Size::kLarge;
  from_text("tiny", size);
  EXPECT_EQ(size, Size::kSmall);
  EXPECT_EQ(to_text(size), "small");
  EXPECT_EQ(error_of<ConfigError>([&] { from_text("big", size); }),
            "expected small or large, got 'big'");
  EXPECT_EQ(error_of<ConfigError>([&] { from_text("", size); }), "expected small or large, got ''");
}

}  // namespace
}  // namespace axle
