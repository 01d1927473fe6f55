// Pairs of characters against a look at every offset of every token.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "data/tokenizers/parts/byte_pair_model.h"

namespace axle {
namespace {

// Characters of all sizes, and the symbol of a space.
constexpr const char* kCharacters[] = {
    "a", "b", "\xc3\xa9", "\xe7\x8c\xab", "\xe3\x81\xa7", "\xf0\x9f\x98\x80", "\xe2\x96\x81"};

TEST(CharacterPairs, TokensDoNotCrossTheEndOfAStretch) {
  std::mt19937 random(3);
  const auto text_of = [&](unsigned size, unsigned num_kinds) {
    std::string out;
    for (unsigned i = 0; i < size; ++i) out += kCharacters[random() % num_kinds];
    return out;
  };
  int num_ends = 0;
  for (int round = 0; round < 200; ++round) {
    CharacterPairs pairs;
    std::vector<std::string> tokens;
    for (unsigned n = random() % 8; n > 0; --n) {
      tokens.push_back(text_of(1 + random() % 4, 6 + round % 2));
      pairs.add_all(tokens.back());
    }
    const std::string text = text_of(60, 7);
    for (size_t begin = 0, end; begin < text.size(); begin = end, ++num_ends) {
      end = pairs.end_of_stretch(text, begin);
      ASSERT_GT(end, begin);
      for (const std::string& token : tokens) {
        const size_t first = end < token.size() ? 0 : end - token.size() + 1;
        for (size_t at = first; at < end; ++at) {
          ASSERT_FALSE(text.compare(at, token.size(), token) == 0 && at + token.size() > end)
              << token << " at " << at << " of " << text;
        }
      }
    }
  }
  EXPECT_GT(num_ends, 200 * 20);
}

TEST(CharacterPairs, WordsAreSeparateIfNoTokenHasAnInnerSpace) {
  const std::string space(kMetaSpace);
  CharacterPairs pairs;
  pairs.add_all("a" + std::string("b"));
  pairs.add_all(space + space + "a");
  EXPECT_TRUE(pairs.words_are_apart());
  std::string text;
  for (int c = 'a'; c <= 'z'; ++c) {
    text = std::string(1, static_cast<char>(c)) + space;
    EXPECT_EQ(pairs.end_of_stretch(text, 0), 1U);
  }
  pairs.add_all("b" + space);
  EXPECT_FALSE(pairs.words_are_apart());
  EXPECT_EQ(pairs.end_of_stretch("b" + space, 0), 4U);
}

}  // namespace
}  // namespace axle
