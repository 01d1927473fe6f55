#include "base/text/unicode.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace axle {
namespace {

TEST(Unicode, CharactersRoundTrip) {
  for (char32_t c = 0; c <= 0x10ffff; c += c < 0x3000 ? 1 : 37) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(find_invalid_utf8(text), std::nullopt) << static_cast<uint32_t>(c);
    const CodePoint read = first_code_point(text);
    ASSERT_EQ(read.value, c);
    ASSERT_EQ(read.size, text.size());
    ASSERT_EQ(utf8_size(c), text.size());
  }
}

TEST(Unicode, Properties) {
  for (const char32_t c : {U' ', U'\t', U'\r', U'\x85', U'\u00a0', U'\u1680', U'\u2028', U'\u3000'})
    EXPECT_TRUE(is_white_space(c)) << static_cast<uint32_t>(c);
  for (const char32_t c : {U'a', U'\u180e', U'\u200b', U'\ufeff', U'\0'})
    EXPECT_FALSE(is_white_space(c)) << static_cast<uint32_t>(c);
  for (const char32_t c : {U'a', U'_', U'\u0301', U'9', U'\u732b'}) EXPECT_TRUE(is_word(c));
  EXPECT_FALSE(is_word(U'-'));
}

TEST(Unicode, NormalFormsAndCase) {
  const std::string text = "e\xcc\x81\xef\xac\x81";  // e, a combining acute accent, the ligature fi
  EXPECT_EQ(normal_form(text, NormalForm::kNfc), "\xc3\xa9\xef\xac\x81");
  EXPECT_EQ(normal_form(text, NormalForm::kNfkc),
            "\xc3\xa9"
            "fi");
  EXPECT_EQ(normal_form("\xc3\xa9", NormalForm::kNfd), "e\xcc\x81");
  EXPECT_EQ(normal_form(text, NormalForm::kNfkd),
            "e\xcc\x81"
            "fi");
  EXPECT_EQ(normal_form(std::string("a\0b", 3), NormalForm::kNfc), std::string("a\0b", 3));
  EXPECT_EQ(unicode_lower_case("\xc3\x84\xce\xa3X\xc4\xb0"), "\xc3\xa4\xcf\x83xi\xcc\x87");
}

// Unicode 12.1 decomposes the era Reiwa into two characters, Unicode 10 orders one more mark.
TEST(Unicode, NewerCharactersStayInNormalForms) {
  EXPECT_FALSE(is_new_to_normal_forms(U'\u00e9'));
  EXPECT_FALSE(is_new_to_normal_forms(U'\u337b'));  // the era before
  EXPECT_TRUE(is_new_to_normal_forms(U'\u32ff'));
  EXPECT_EQ(normal_form("\u32ff\u337b", NormalForm::kNfkc), "\u32ff\u5e73\u6210");
  EXPECT_EQ(normal_form("a\u0301\u1df9\u0323e\u0301", NormalForm::kNfd),
            "a\u0301\u1df9\u0323e\u0301");
  EXPECT_EQ(normal_form("e\u1df9\u0301e\u0301", NormalForm::kNfc), "e\u1df9\u0301\u00e9");
}

// The forms as utf8proc has them, which takes the square of the marks in a row.
std::string form_of_utf8proc(const std::string& text, int options) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &bytes,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options));
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  std::free(bytes);
  return out;
}

TEST(Unicode, NormalFormsMatchUtf8proc) {
  const std::vector<std::pair<NormalForm, int>> forms = {
      {NormalForm::kNfc, UTF8PROC_COMPOSE},
      {NormalForm::kNfd, UTF8PROC_DECOMPOSE},
      {NormalForm::kNfkc, UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
      {NormalForm::kNfkd, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
  const auto expect_same = [&](const std::string& text) {
    for (const auto& [form, options] : forms)
      ASSERT_EQ(normal_form(text, form), form_of_utf8proc(text, options)) << text;
  };
  // Each character between marks of two classes.
  for (char32_t c = 0x80; c <= 0x10ffff; c += c < 0x30000 ? 1 : 37) {
    if ((c >= 0xd800 && c <= 0xdfff) || is_new_to_normal_forms(c)) continue;
    std::string text = "e\u0301\u0323";
    append_utf8(text, c);
    ASSERT_NO_FATAL_FAILURE(expect_same(text + "\u0301\u0323"));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {  // letters, Hangul, and marks of many classes in any order
    std::string text;
    for (int j = 0; j < 30; ++j) {
      constexpr std::array<std::pair<char32_t, char32_t>, 6> kRanges = {
          {{0x41, 26}, {0xc0, 100}, {0x300, 112}, {0x591, 40}, {0x1100, 200}, {0xac00, 200}}};
      const auto& [first, count] = kRanges[random() % kRanges.size()];
      append_utf8(text, first + static_cast<char32_t>(random() % count));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(text));
  }
}

// An order by exchange of neighbours would take 10^12 steps.
TEST(Unicode, AMillionMarksOfALetterAreSorted) {
  std::string text = "e", above, below;
  for (int i = 0; i < 1'000'000; ++i) {
    text += "\u0301\u0323";
    above += "\u0301";
    below += "\u0323";
  }
  const bool is_decomposed = normal_form(text, NormalForm::kNfd) == "e" + below + above &&
                             normal_form(text, NormalForm::kNfkd) == "e" + below + above;
  EXPECT_TRUE(is_decomposed);
  const std::string composed = "\u1eb9" + below.substr(2) + above;
  const bool is_composed = normal_form(text, NormalForm::kNfc) == composed &&
                           normal_form(text, NormalForm::kNfkc) == composed;
  EXPECT_TRUE(is_composed);
}

TEST(Unicode, InvalidBytesAreReplacedOneByOne) {
  EXPECT_EQ(to_valid_utf8("a\xff\xc3z\xe2\x82"),
            "a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(to_valid_utf8("\xc3\xa9"), "\xc3\xa9");
}

TEST(Unicode, GraphemeClustersAreWhole) {
  EXPECT_EQ(first_grapheme("e\xcc\x81x"), 3u);
  EXPECT_EQ(first_grapheme("\r\nx"), 2u);
  EXPECT_EQ(first_grapheme("\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xa9"), 8u);  // one flag
}

}  // namespace
}  // namespace axle
