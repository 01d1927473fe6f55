// Compares tokenizers with the SentencePiece library, text by text and id by id.
#pragma once

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <random>

#include "config/fields.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Returns `lines`, odd whitespace, other scripts, and random mixtures of all of these.
inline std::vector<std::string> odd_texts(const std::vector<std::string>& lines) {
  std::vector<std::string> out = {
      "Hello, world!",
      " leading",
      "trailing ",
      "two  spaces   three",
      "tab\tand\nnewline\r\n",
      " ",
      "  ",
      "caf\xc3\xa9 na\xc3\xafve \xe2\x82\xac\xf0\x9f\x98\x80",
      "<s>not special</s> <0x41> <unk>",
      "\xe5\x90\xbe\xe8\xbc\xa9\xe3\x81\xaf\xe7\x8c\xab\xe3\x81\xa7\xe3\x81\x82\xe3\x82\x8b",
      "aaaaaaaaaaaaaaaaaaaaaaaa"};
  out.insert(out.end(), lines.begin(), lines.end());
  std::mt19937 random(5);
  const size_t num_plain = std::min<size_t>(out.size(), 200);
  for (int i = 0; i < 300; ++i) {
    std::string mixed;
    for (int n = static_cast<int>(random() % 6); n >= 0; --n)
      mixed += out[random() % num_plain] + (random() % 2 ? " " : "");
    out.push_back(mixed);
  }
  return out;
}

inline std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& path) {
  return Child<Tokenizer>(SentencePieceTokenizer::Config{.path = path}).build({}, {});
}

/// Compares encoding and decoding of texts, and decoding of random ids, at once and one by one.
inline void expect_decodes_as_the_library(const std::string& path,
                                          const std::vector<std::string>& lines) {
  const auto ours = sentencepiece_tokenizer(path);
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(path).ok());
  for (const auto& text : odd_texts(lines)) {
    const auto ids = ours->encode(text);
    ASSERT_EQ(ids, library.EncodeAsIds(text)) << text;
    ASSERT_EQ(ours->decode(ids), library.DecodeIds(ids)) << text;
  }
  std::mt19937 random(6);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<int> ids;
    for (size_t n = random() % 12; n > 0; --n)
      ids.push_back(static_cast<int>(random() % static_cast<unsigned>(library.GetPieceSize())));
    ASSERT_EQ(ours->decode(ids), library.DecodeIds(ids)) << ::testing::PrintToString(ids);
    StreamDecoder stream(*ours);
    std::string streamed;
    for (const int id : ids) streamed += stream.push(id);
    ASSERT_EQ(streamed + stream.finish(), library.DecodeIds(ids));
  }
}

/// Compares a vocabulary in llama2.c's format with the model that it was made from. The model drops
/// extra spaces before it encodes; the reader of the file keeps them.
inline void expect_vocabulary_is_the_models(const std::string& vocabulary,
                                            const std::string& model_path,
                                            const std::vector<std::string>& lines) {
  const auto model = sentencepiece_tokenizer(model_path);
  const auto ours = Child<Tokenizer>(Llama2cTokenizer::Config{.path = vocabulary}).build({}, {});
  ASSERT_EQ(ours->vocab_size(), model->vocab_size());
  EXPECT_EQ(ours->special_ids().bos, model->special_ids().bos);
  EXPECT_EQ(ours->special_ids().eos, model->special_ids().eos);
  for (int32_t id = 1; id < model->vocab_size(); ++id)
    EXPECT_EQ(ours->piece(id), model->piece(id)) << id;
  const auto without_extra_spaces = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
    }
    if (out.ends_with(' ')) out.pop_back();
    return out;
  };
  for (const auto& text : odd_texts(lines)) {
    ASSERT_EQ(ours->encode(without_extra_spaces(text)), model->encode(text)) << text;
    ASSERT_EQ(ours->decode(ours->encode(text)), text);
  }
}

}  // namespace axle
