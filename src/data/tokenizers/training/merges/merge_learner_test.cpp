// The learner against one that counts all pairs again for each merge.
#include "data/tokenizers/training/merges/merge_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace axle {
namespace {

struct Word {
  std::vector<int32_t> symbols;
  int64_t count;
};

struct Learned {
  std::vector<std::string> tokens;
  std::vector<std::pair<int32_t, int32_t>> merges;
  int64_t num_symbols = 0;
};

Learned learned_by_counting(std::vector<std::string> tokens, std::vector<Word> words,
                            const MergeLearner::Options& options) {
  Learned out{.tokens = std::move(tokens)};
  std::set<std::pair<int32_t, int32_t>> never, known;
  while (std::ssize(out.tokens) < options.vocab_size) {
    std::map<std::pair<int32_t, int32_t>, int64_t> counts;
    for (const auto& [symbols, count] : words) {
      for (size_t i = 0; i + 1 < symbols.size(); ++i) counts[{symbols[i], symbols[i + 1]}] += count;
    }
    for (const auto& pair : never) counts.erase(pair);
    // The first of the largest counts, in the order of the ids.
    const auto best =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < options.min_count) break;
    const auto [left, right] = best->first;
    const std::string text = out.tokens[size_t(left)] + out.tokens[size_t(right)];
    if (text.size() > options.max_symbols || options.excluded.contains(text)) {
      never.insert(best->first);
      continue;
    }
    auto id = static_cast<int32_t>(std::ranges::find(out.tokens, text) - out.tokens.begin());
    if (id == std::ssize(out.tokens)) out.tokens.push_back(text);
    if (known.insert(best->first).second) out.merges.emplace_back(left, right);
    for (auto& [symbols, count] : words) {
      std::vector<int32_t> merged;
      for (size_t i = 0; i < symbols.size(); ++i) {
        const bool is_pair =
            symbols[i] == left && i + 1 < symbols.size() && symbols[i + 1] == right;
        merged.push_back(is_pair ? id : symbols[i]);
        i += is_pair;
      }
      symbols = merged;
    }
  }
  for (const auto& [symbols, count] : words) out.num_symbols += count * std::ssize(symbols);
  return out;
}

Learned learned(std::vector<std::string> tokens, const std::vector<Word>& words,
                const MergeLearner::Options& options) {
  MergeLearner learner(std::move(tokens), options);
  for (const auto& [symbols, count] : words) learner.add(symbols, count);
  learner.learn({});
  Learned out{.tokens = learner.tokens(), .num_symbols = learner.num_symbols()};
  for (const auto& [left, right] : learner.merges()) out.merges.emplace_back(left, right);
  return out;
}

// Few letters in short words: many equal counts, and pairs that overlap ("aaa").
TEST(MergeLearner, MatchesAReferenceThatRecountsAllPairs) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const unsigned num_letters = 1 + random() % 4;
    std::vector<std::string> letters;
    for (unsigned i = 0; i < num_letters; ++i) letters.emplace_back(1, static_cast<char>('a' + i));
    std::vector<Word> words;
    for (unsigned n = 1 + random() % 40; n > 0; --n) {
      Word word{.symbols = {}, .count = 1 + static_cast<int64_t>(random() % 5)};
      for (unsigned size = random() % 9; size > 0; --size)
        word.symbols.push_back(static_cast<int32_t>(random() % num_letters));
      words.push_back(word);
    }
    const MergeLearner::Options options{.vocab_size = num_letters + 1 + int64_t(random() % 40),
                                        .min_count = 1 + int64_t(random() % 3),
                                        .max_symbols = 2 + random() % 8,
                                        .excluded = {"ab", "abba"}};
    const Learned expected = learned_by_counting(letters, words, options);
    const Learned made = learned(letters, words, options);
    EXPECT_EQ(made.tokens, expected.tokens) << round;
    EXPECT_EQ(made.merges, expected.merges) << round;
    EXPECT_EQ(made.num_symbols, expected.num_symbols) << round;
  }
}

TEST(MergeLearner, TheOrderOfPiecesDoesNotMatter) {
  std::mt19937 random(9);
  std::vector<Word> words;
  for (int i = 0; i < 500; ++i) {
    Word word{.symbols = {}, .count = 1};
    for (unsigned size = 1 + random() % 12; size > 0; --size)
      word.symbols.push_back(static_cast<int32_t>(random() % 3));
    words.push_back(word);
  }
  const Learned first = learned({"a", "b", "c"}, words, {.vocab_size = 150});
  EXPECT_EQ(first.tokens.size(), 150u);
  std::ranges::shuffle(words, random);
  EXPECT_EQ(learned({"a", "b", "c"}, words, {.vocab_size = 150}).merges, first.merges);
}

TEST(MergeLearner, InputsWithoutPairsLearnNoMerges) {
  EXPECT_TRUE(learned({"a"}, {}, {.vocab_size = 9}).merges.empty());
  EXPECT_TRUE(learned({"a"}, {{{0}, 5}, {{}, 5}}, {.vocab_size = 9}).merges.empty());
  EXPECT_EQ(learned({"a"}, {{{0, 0}, 5}}, {.vocab_size = 1}).tokens.size(), 1u);
}

}  // namespace
}  // namespace axle
