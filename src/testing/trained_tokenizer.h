// SentencePiece models trained by the library on generated text, so that tests need no files made
// by others.
#pragma once

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Returns lines of a small language of made-up words. Some words are accented, some Japanese; some
/// are frequent, some rare. The same seed gives the same lines.
inline std::vector<std::string> made_up_lines(int count, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<std::string> syllables = {
      "ba",        "ke",        "ti",           "lo",
      "mu",        "sha",       "ren",          "dor",
      "vi",        "an",        "est",          "our",
      "\xc3\xa9t", "\xc3\xb6l", "\xe7\x8c\xab", "\xe3\x81\xa7\xe3\x81\x99"};
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (unsigned n = 1 + random() % 3; n > 0; --n) word += syllables[random() % syllables.size()];
    words.push_back(word);
  }
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    std::string line;
    for (unsigned n = 3 + random() % 10; n > 0; --n) {
      const size_t rank = random() % words.size() * (random() % words.size()) / words.size();
      line += (line.empty() ? "" : " ") + words[rank];
    }
    lines.push_back(line + (random() % 3 ? "." : " 42!"));
  }
  return lines;
}

/// Returns the bytes of a model file. `options` are the library's own flags ("--model_type=bpe").
inline std::string trained_tokenizer(const std::string& options) {
  class Lines final : public sentencepiece::SentenceIterator {
   public:
    explicit Lines(std::vector<std::string> lines) : lines_(std::move(lines)) {}
    bool done() const override { return at_ >= lines_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return lines_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

   private:
    std::vector<std::string> lines_;
    size_t at_ = 0;
  };
  Lines lines(made_up_lines(600, 3));
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      options + " --minloglevel=2 --hard_vocab_limit=false --num_threads=1", &lines, &model);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

/// Trains a model like llama2.c's: byte pairs, unknown characters as bytes, 512 ids.
inline std::string trained_bpe() {
  return trained_tokenizer(
      "--model_type=bpe --byte_fallback=true --character_coverage=0.99 "
      "--normalization_rule_name=identity --split_digits=true --vocab_size=512");
}
/// Trains a model like many published ones: a unigram model, with normalization, without byte
/// pieces.
inline std::string trained_unigram() {
  return trained_tokenizer("--model_type=unigram --vocab_size=300");
}

}  // namespace axle
