// A trie against a look at every text of its set.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "data/tokenizers/parts/byte_level.h"

namespace axle {
namespace {

using Set = std::map<std::string, int32_t, std::less<>>;
using Prefixes = std::vector<std::pair<size_t, int32_t>>;

Prefixes prefixes_by_set(const Set& set, std::string_view text) {
  Prefixes out;
  for (size_t size = 1; size <= text.size(); ++size) {
    if (const auto found = set.find(text.substr(0, size)); found != set.end())
      out.emplace_back(size, found->second);
  }
  return out;
}

Prefixes prefixes_of(const ByteTrie& trie, std::string_view text) {
  Prefixes out;
  trie.prefixes(text, [&](size_t size, int32_t value) { out.emplace_back(size, value); });
  return out;
}

TEST(ByteTrie, AgreesWithASet) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const unsigned num_letters = round % 3 == 0 ? 256 : 2 + random() % 6;
    const auto text_of = [&](unsigned most) {
      std::string out;
      for (unsigned n = random() % (most + 1); n > 0; --n)
        out += static_cast<char>(random() % num_letters);
      return out;
    };
    std::vector<std::string> texts;
    for (unsigned n = random() % 800; n > 0; --n) texts.push_back("x" + text_of(7));
    Set set;
    std::vector<ByteTrie::Entry> entries;
    for (std::string& text : texts) {
      if (random() % 2) text.erase(0, text.size() > 1);
      set[text] = static_cast<int32_t>(entries.size());
      entries.push_back({text, static_cast<int32_t>(entries.size())});
    }
    const ByteTrie trie(entries);
    for (int i = 0; i < 200; ++i) {
      const std::string text = text_of(20);
      ASSERT_EQ(prefixes_of(trie, text), prefixes_by_set(set, text)) << round;
      for (const std::string& whole :
           {text, texts.empty() ? text : texts[random() % texts.size()]}) {
        const auto at = set.find(whole);
        ASSERT_EQ(trie.value(whole), at == set.end() ? -1 : at->second) << round;
      }
      const auto found = trie.find(text, 0);
      size_t begin = 0;
      while (begin < text.size() && prefixes_by_set(set, text.substr(begin)).empty()) ++begin;
      ASSERT_EQ(found.has_value(), begin < text.size());
      if (!found) continue;
      const auto [size, value] = prefixes_by_set(set, text.substr(begin)).back();
      EXPECT_EQ(found->begin, begin);
      EXPECT_EQ(found->size, size);
      EXPECT_EQ(found->value, value);
    }
  }
}

TEST(ByteTrie, EmptyTrieFindsNoPrefixes) {
  const std::string bytes("\0\xff a", 4);
  for (const ByteTrie& trie : {ByteTrie(), ByteTrie(std::vector<ByteTrie::Entry>{})}) {
    EXPECT_TRUE(prefixes_of(trie, bytes).empty());
    EXPECT_FALSE(trie.find(bytes, 0));
  }
}

}  // namespace
}  // namespace axle
