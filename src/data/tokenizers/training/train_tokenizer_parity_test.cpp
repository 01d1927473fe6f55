// Merges against those that Hugging Face's own trainer learns from the same text.
#include <gtest/gtest.h>

#include "data/tokenizers/reference_texts_test.h"
#include "data/tokenizers/training/train_tokenizer.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

const Json& reference() {
  static const Json json = read_json(read_file(reference_file("tokenizers/training.json")));
  return json;
}

// The text that tools/oracle/tokenizer_training.py makes.
std::string training_text() {
  const std::vector<std::string> syllables = reference()["syllables"], marks = reference()["marks"];
  const ReferenceTexts texts;
  ReferenceRandom random(11);
  std::vector<std::string> words(400);
  for (std::string& word : words) {
    for (uint64_t n = 1 + random.below(4); n > 0; --n)
      word += syllables[random.below(syllables.size())];
  }
  std::string out;
  for (int line = 0; line < 3000; ++line) {
    if (random.below(10) == 0) out.append(random.below(5), ' ');
    const uint64_t num_words = 1 + random.below(12);
    for (uint64_t i = 0; i < num_words; ++i) {
      if (i > 0) out += ' ';
      const uint64_t most = 1 + random.below(words.size());
      out += words[random.below(most)];
      const uint64_t mark = random.below(40);
      if (mark < marks.size()) out += marks[mark];
    }
    if (random.below(8) == 0) {
      std::string noise = texts.random_text(random);
      std::erase(noise, '\0');
      const std::string byte = "<0x41>";
      for (size_t at; (at = noise.find(byte)) != noise.npos;) noise.erase(at, byte.size());
      out += noise;
    }
    out += random.below(6) == 0 ? "\n\n" : "\n";
  }
  return out;
}

std::vector<std::string> merges_of(TokenizerTraining training) {
  training.min_frequency = reference()["min_frequency"];
  for (const auto& text : reference()["special"]) training.special.push_back(text);
  return read_json(train_tokenizer(training).files.at("tokenizer.json"))["model"]["merges"];
}

TEST(TrainTokenizerParity, MergesMatchTheLibrary) {
  const std::string text = training_text();
  ReferenceDigest of_text;
  of_text.add(text);
  ASSERT_EQ(of_text.hex(), reference()["text"].get<std::string>());
  const TempDir dir;
  const std::vector<std::string> files = {dir / "a.txt"};
  replace_file(files[0], text);
  TokenizerTraining training{.sources = files, .vocab_size = reference()["vocab_size"]};
  EXPECT_EQ(merges_of(training), reference()["llama3"].get<std::vector<std::string>>());
  const auto expect_merges = [&](const Json& expected, const std::string& name) {
    ReferenceDigest merges;
    for (const std::string& merge : merges_of(training)) merges.add(merge);
    EXPECT_EQ(merges.hex(), expected.get<std::string>()) << name;
  };
  for (const auto& [family, expected] : reference()["merges"].items()) {
    training.pattern = family;
    expect_merges(expected, family);
  }
  training = {.sources = files,
              .vocab_size = reference()["characters_size"],
              .alphabet = Alphabet::kCharacters,
              .character_coverage = 1};
  expect_merges(reference()["characters"], "characters");
}

}  // namespace
}  // namespace axle
