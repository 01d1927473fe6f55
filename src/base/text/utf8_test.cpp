#include <gtest/gtest.h>

#include "base/text/unicode.h"

namespace axle {
namespace {

std::string encode(uint32_t c) {
  const auto byte = [](uint32_t b) { return std::string(1, static_cast<char>(b)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) return byte(0xc0 | c >> 6) + byte(0x80 | (c & 63));
  if (c < 0x10000) return byte(0xe0 | c >> 12) + byte(0x80 | (c >> 6 & 63)) + byte(0x80 | (c & 63));
  return byte(0xf0 | c >> 18) + byte(0x80 | (c >> 12 & 63)) + byte(0x80 | (c >> 6 & 63)) +
         byte(0x80 | (c & 63));
}

TEST(Utf8, CharactersAreCompleteAndTheirPrefixesTruncated) {
  for (uint32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const std::string text = encode(c);
    const Utf8Step whole = utf8_step(text + "x");
    ASSERT_TRUE(whole.kind == Utf8Kind::kComplete && whole.size == text.size()) << c;
    for (size_t n = 1; n < text.size(); ++n)
      ASSERT_TRUE(utf8_step(text.substr(0, n)).kind == Utf8Kind::kTruncated) << c;
  }
}

TEST(Utf8, SurrogatesAndHugeValuesAreInvalid) {
  for (uint32_t c = 0xd800; c < 0xe000; ++c) ASSERT_EQ(find_invalid_utf8(encode(c)), 0u) << c;
  for (uint32_t c = 0x110000; c < 0x1fffff; c += 997)
    ASSERT_EQ(find_invalid_utf8(encode(c)), 0u) << c;
}

TEST(Utf8, OverlongFormsAndStrayBytesAreFoundAtTheirOffset) {
  for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf",
                          "\xf0\x8f\xbf\xbf", "\xf5", "\xff", "\xc3(", "\xe2\x82", "\xe2(\x82"}) {
    EXPECT_EQ(find_invalid_utf8(bad), 0u);
    EXPECT_EQ(find_invalid_utf8(std::string("eight by") + "t\xc3\xa9" + bad + "more"), 11u);
  }
  EXPECT_EQ(find_invalid_utf8("plain ASCII, longer than a word of eight"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
}

TEST(Printable, EscapesAnyBytesToOneLineOfValidText) {
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable(std::string_view("a\0b\n\x1b[1m\x7f", 9)), "a\\x00b\\x0a\\x1b[1m\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("abcdefgh", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
}

}  // namespace
}  // namespace axle
