// Compares a tokenizer with what its library says of large texts: hashes of ids and decoded texts
// (tools/oracle/tokenizer_foreign.py).
#pragma once

#include <gtest/gtest.h>

#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/reference_texts_test.h"

namespace axle {

class LargeTexts {
 public:
  /// `name` is the tokenizer's among the expected ones.
  LargeTexts(const std::string& tokenizer_file, const std::string& name)
      : tokenizer_(tokenizer_in_file(tokenizer_file, "path").build({}, {})),
        expected_(read_json(read_file(reference_file("tokenizers/foreign.json"))).at(name)) {}

  /// Texts of many kinds, 10,000 random strings, and a megabyte of such without a break.
  void expect_random_ones() const {
    constexpr int kNumRandom = 10000;
    constexpr size_t kHostileBytes = 1 << 20;
    const ReferenceTexts reference;
    expect(reference.texts, "texts");
    ReferenceRandom random(7);
    std::vector<std::string> texts;
    for (int i = 0; i < kNumRandom; ++i) texts.push_back(reference.random_text(random));
    expect(texts, "random");
    std::string hostile;
    while (hostile.size() < kHostileBytes) hostile += reference.random_text(random);
    expect({hostile}, "hostile");
  }
  void expect(const std::vector<std::string>& texts, const std::string& name) const {
    ReferenceDigest ids, decoded;
    for (const std::string& text : texts) {
      const std::vector<int32_t> found = tokenizer_->encode(text);
      ids.add(found);
      decoded.add(tokenizer_->decode(found));
    }
    const std::vector<std::string> digests = {ids.hex(), decoded.hex()};
    EXPECT_EQ(digests, expected_.at(name).get<std::vector<std::string>>()) << name;
  }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  nlohmann::ordered_json expected_;
};

}  // namespace axle
