// Categories of all characters against `tokenizers`: tools/oracle/unicode_categories.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/pre_tokenizers.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {
namespace {

template <class Fn>
std::string hash_of(const Fn& holds) {
  std::string digits;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
    digits += !is_surrogate && holds(c) ? '1' : '0';
  }
  return sha256_hex(digits).substr(0, 16);
}

// Whether the normalizer takes the character out of a text.
auto removed_by(const Normalizer& normalizer) {
  return [normalizer](char32_t c) {
    std::string text = "a";
    append_utf8(text, c);
    text += 'b';
    normalizer(text);
    return text == "ab";
  };
}

TEST(Categories, MatchHuggingFaceTokenizers) {
  const auto hashes =
      nlohmann::json::parse(read_file(reference_file("tokenizers/categories.json")));
  EXPECT_EQ(hash_of(removed_by(strip_accents())), hashes.at("mark"));
  const BertNormalizer none{
      .clean_text = false, .space_chinese = false, .strip_accents = false, .lower_case = false};
  BertNormalizer strips = none, cleans = none;
  strips.strip_accents = true;
  cleans.clean_text = true;
  EXPECT_EQ(hash_of(removed_by(strips)), hashes.at("nonspacing_mark"));
  const auto is_cleaned = removed_by(cleans);
  EXPECT_EQ(hash_of([&](char32_t c) { return c != 0 && c != 0xfffd && is_cleaned(c); }),
            hashes.at("other"));
  EXPECT_EQ(hash_of(is_punctuation), hashes.at("punctuation"));
  EXPECT_EQ(hash_of(is_number), hashes.at("number"));
  std::string all;
  for (char32_t c = 0; c < 0x110000; ++c)
    if (c < 0xd800 || c > 0xdfff) append_utf8(all, c);
  EXPECT_EQ(sha256_hex(unicode_lower_case(all)).substr(0, 16), hashes.at("lower_case"));
}

}  // namespace
}  // namespace axle
