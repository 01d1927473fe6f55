// The tokenizer of GGUF metadata against the models that its numbers come from.
#include "data/tokenizers/gguf/gguf_tokenizer.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "config/fields.h"
#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/tokenizer_library_test.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/save_gguf.h"
#include "io/proto.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GgufTokenizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> build(const GgufMetadata& metadata) {
    save_gguf(path_, metadata, {});
    return Child<Tokenizer>(GgufTokenizer::Config{.path = path_}).build({}, {.path = "t"});
  }
  TempDir dir_;
  std::string path_ = dir_ / "m.gguf";
};

// Returns the pieces of a SentencePiece model as a converter writes them.
GgufMetadata metadata_of(const std::string& model) {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
  ProtoReader reader(model);
  while (const auto field = reader.next()) {
    if (field->number != 1) continue;
    tokens.emplace_back();
    scores.push_back(0);
    types.push_back(1);
    ProtoReader piece(field->bytes());
    while (const auto part = piece.next()) {
      if (part->number == 1) tokens.back() = std::string(part->bytes());
      if (part->number == 2)
        scores.back() = std::bit_cast<float>(static_cast<uint32_t>(part->bits));
      if (part->number == 3) types.back() = static_cast<int32_t>(part->varint());
    }
  }
  GgufMetadata out;
  out.set("tokenizer.ggml.model", "llama");
  out.set("tokenizer.ggml.tokens", tokens);
  out.set("tokenizer.ggml.scores", scores);
  out.set("tokenizer.ggml.token_type", types);
  out.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
  out.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  out.set("tokenizer.ggml.eos_token_id", uint32_t{2});
  return out;
}

TEST_F(GgufTokenizerTest, MergesByScoreAsSentencePieceDoes) {
  for (const bool has_prefix : {true, false}) {
    const std::string model = trained_tokenizer(
        std::string("--model_type=bpe --vocab_size=512 --byte_fallback=true "
                    "--normalization_rule_name=identity --remove_extra_whitespaces=false "
                    "--user_defined_symbols=<sep>,ba --add_dummy_prefix=") +
        (has_prefix ? "true" : "false"));
    GgufMetadata metadata = metadata_of(model);
    if (!has_prefix) metadata.set("tokenizer.ggml.add_space_prefix", false);
    const auto tokenizer = build(metadata);
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.LoadFromSerializedProto(model).ok());
    EXPECT_EQ(tokenizer->vocab_size(), library.GetPieceSize());
    for (const std::string& text : odd_texts(made_up_lines(200, 8))) {
      const auto ids = tokenizer->encode(text);
      ASSERT_EQ(ids, library.EncodeAsIds(text)) << text;
      ASSERT_EQ(tokenizer->decode(ids), library.DecodeIds(ids)) << text;
    }
    EXPECT_EQ(tokenizer->special_ids().bos, 1);
    EXPECT_EQ(tokenizer->special_ids().eos, 2);
    EXPECT_THAT(tokenizer->framed({7}), ElementsAre(1, 7));
    EXPECT_EQ(tokenizer->token(1), "<s>");
    EXPECT_EQ(tokenizer->piece(1), "");
  }
}

GgufMetadata byte_level_metadata() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(to_byte_level(std::string(1, static_cast<char>(byte))));
  tokens.insert(tokens.end(), {"<|a|>", "<b>", "th", "the", "\xc4\xa0the", "12"});
  std::vector<int32_t> types(tokens.size(), 1);
  types[256] = 3;
  types[257] = 4;
  GgufMetadata out;
  out.set("tokenizer.ggml.model", "gpt2");
  out.set("tokenizer.ggml.pre", "smollm");
  out.set("tokenizer.ggml.tokens", tokens);
  out.set("tokenizer.ggml.token_type", types);
  out.set("tokenizer.ggml.merges", std::vector<std::string>{"t h", "th e", "\xc4\xa0 the", "1 2"});
  out.set("tokenizer.ggml.eos_token_id", uint32_t{256});
  out.set("tokenizer.ggml.bos_token_id", uint32_t{256});
  return out;
}

// llama.cpp knows the family by the file's name; <|endoftext|> keeps what is behind it.
TEST_F(GgufTokenizerTest, TokensOfPhi3TakeTheSpacesAfterThem) {
  GgufMetadata metadata = byte_level_metadata();
  const std::string text = "<|a|>\n  the<b> 12<|a|>";
  const auto plain = build(metadata);
  EXPECT_THAT(plain->encode_with_special(text),
              ElementsAre(256, '\n', ' ', 260, 257, ' ', '1', '2', 256));
  for (const char* const name : {"Phi-3-mini-4k", "my phi3"}) {
    metadata.set("general.name", name);
    const auto tokenizer = build(metadata);
    EXPECT_THAT(tokenizer->encode_with_special(text), ElementsAre(256, 259, 257, '1', '2', 256));
    EXPECT_NE(tokenizer->fingerprint(), plain->fingerprint());
  }
  std::vector<std::string> tokens = metadata.at("tokenizer.ggml.tokens").texts();
  tokens[256] = "<|endoftext|>";
  metadata.set("tokenizer.ggml.tokens", tokens);
  EXPECT_THAT(build(metadata)->encode_with_special("<|endoftext|> the<b> the"),
              ElementsAre(256, 260, 257, 259));
}

TEST_F(GgufTokenizerTest, ByteLevelTokensAreCutByTheNamedPattern) {
  GgufMetadata metadata = byte_level_metadata();
  auto tokenizer = build(metadata);
  EXPECT_THAT(tokenizer->encode("the the"), ElementsAre(259, 260));
  EXPECT_THAT(tokenizer->encode("12"), ElementsAre('1', '2'));  // digits by themselves
  EXPECT_THAT(tokenizer->encode("<b>"), ElementsAre(257));
  EXPECT_THAT(tokenizer->encode_with_special("the<|a|>"), ElementsAre(259, 256));
  EXPECT_EQ(tokenizer->encode("<|a|>").size(), 5u);
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{256, 259, 260, 257, 0xe2, 0x82}),
            "the the<b>\xef\xbf\xbd");
  EXPECT_EQ(tokenizer->special_ids().bos, std::nullopt);  // the file does not say to add it
  EXPECT_EQ(tokenizer->special_ids().eos, 256);
  const uint64_t fingerprint = tokenizer->fingerprint();
  metadata.set("tokenizer.ggml.pre", "gpt-2");
  tokenizer = build(metadata);
  EXPECT_THAT(tokenizer->encode("12"), ElementsAre(261));
  EXPECT_NE(tokenizer->fingerprint(), fingerprint);
}

TEST_F(GgufTokenizerTest, CopyOfItsKeysIsTheSameTokenizer) {
  GgufMetadata metadata = byte_level_metadata();
  metadata.set("general.architecture", "llama");
  metadata.set("general.license", "mit");
  metadata.set("llama.block_count", uint32_t{2});
  metadata.set("tokenizer.chat_template", "{{ messages }}");
  const auto whole = build(metadata);
  const std::string alone = gguf_tokenizer_alone(path_);
  replace_file(path_, alone);
  const GgufMetadata kept = read_gguf_header(FileReader(path_)).metadata;
  EXPECT_FALSE(kept.contains("llama.block_count"));
  EXPECT_EQ(kept.at("general.license").text(), "mit");
  EXPECT_EQ(kept.at("tokenizer.chat_template").text(), "{{ messages }}");
  const auto tokenizer =
      Child<Tokenizer>(GgufTokenizer::Config{.path = path_}).build({}, {.path = "t"});
  EXPECT_EQ(tokenizer->fingerprint(), whole->fingerprint());
  EXPECT_EQ(tokenizer->encode("the the"), whole->encode("the the"));
}

TEST_F(GgufTokenizerTest, HuggingFaceFilesAreTheSameTokenizer) {
  for (const char* pre : {"smollm", "llama3", "default", "deepseek-v3"}) {
    SCOPED_TRACE(pre);
    GgufMetadata metadata = byte_level_metadata();
    metadata.set("tokenizer.ggml.pre", pre);
    metadata.set("tokenizer.ggml.add_bos_token", std::string(pre) == "smollm");
    metadata.set("tokenizer.chat_template", "{{ messages }}");
    const auto own = build(metadata);
    for (const auto& [name, text] : gguf_tokenizer_json(path_))
      replace_file(std::filesystem::path(dir_ / name), text);
    const auto read =
        tokenizer_in_file(dir_ / "tokenizer.json", "--tokenizer").build({}, {.path = "tokenizer"});
    EXPECT_EQ(read->vocab_size(), own->vocab_size());
    EXPECT_EQ(read->special_ids().eos, own->special_ids().eos);
    EXPECT_EQ(read->chat_settings().chat_template, "{{ messages }}");
    EXPECT_EQ(read->framed({7}), own->framed({7}));
    for (const std::string& text : odd_texts(made_up_lines(100, 8))) {
      const auto ids = own->encode_with_special(text + "the<|a|>12");
      ASSERT_EQ(read->encode_with_special(text + "the<|a|>12"), ids) << text;
      ASSERT_EQ(read->decode(ids), own->decode(ids)) << text;
    }
  }
}

TEST_F(GgufTokenizerTest, ScoredTokensBecomeMergesInHuggingFaceFiles) {
  for (const bool has_prefix : {true, false}) {
    SCOPED_TRACE(has_prefix);
    const std::string model = trained_tokenizer(
        std::string("--model_type=bpe --vocab_size=512 --byte_fallback=true "
                    "--normalization_rule_name=identity --remove_extra_whitespaces=false ") +
        (has_prefix ? "" : "--user_defined_symbols=<sep>,ba,\xe2\x96\x81\xe2\x96\x81"));
    GgufMetadata metadata = metadata_of(model);
    metadata.set("tokenizer.ggml.add_space_prefix", has_prefix);
    const auto own = build(metadata);
    const auto files = gguf_tokenizer_json(path_);
    ASSERT_EQ(files.size(), 2u);
    for (const auto& [name, text] : files) replace_file(std::filesystem::path(dir_ / name), text);
    const auto read =
        tokenizer_in_file(dir_ / "tokenizer.json", "--tokenizer").build({}, {.path = "tokenizer"});
    EXPECT_EQ(read->vocab_size(), own->vocab_size());
    EXPECT_EQ(read->special_ids().bos, own->special_ids().bos);
    EXPECT_EQ(read->special_ids().eos, own->special_ids().eos);
    EXPECT_EQ(read->framed({7}), own->framed({7}));
    for (const std::string& text : odd_texts(made_up_lines(200, 8))) {
      const auto ids = own->encode_with_special(text + "<s>a</s> b");
      ASSERT_EQ(read->encode_with_special(text + "<s>a</s> b"), ids) << text;
      ASSERT_EQ(read->decode(ids), own->decode(ids)) << text;
    }
    // Scores that are equal have no order there.
    std::vector<float> scores = metadata.at("tokenizer.ggml.scores").numbers();
    for (float& score : scores) score = std::ceil(score / 2);
    metadata.set("tokenizer.ggml.scores", scores);
    build(metadata);
    EXPECT_TRUE(gguf_tokenizer_json(path_).empty());
  }
}

TEST_F(GgufTokenizerTest, MistakesAreNamedWithTheirKey) {
  const auto error_with = [&](const char* key, const GgufValue& value) {
    GgufMetadata metadata = byte_level_metadata();
    metadata.set(key, value);
    return error_of<DataError>([&] { build(metadata); });
  };
  EXPECT_THAT(error_with("tokenizer.ggml.model", "bert"),
              HasSubstr("expected gpt2 or llama, got text 'bert'"));
  EXPECT_THAT(error_with("tokenizer.ggml.pre", "x"), HasSubstr("expected one of default, gpt-2"));
  EXPECT_THAT(error_with("tokenizer.ggml.merges", std::vector<std::string>{"t x"}),
              HasSubstr("expected two tokens of the vocabulary, whose union is one, not 't x'"));
  EXPECT_THAT(error_with("tokenizer.ggml.eos_token_id", uint32_t{262}),
              HasSubstr("expected an integer of 0 to 261"));
  EXPECT_THAT(error_with("tokenizer.ggml.token_type", std::vector<int32_t>{1}),
              HasSubstr("expected 262 types"));
  EXPECT_THAT(error_with("tokenizer.ggml.tokens", std::vector<std::string>{"\xff"}),
              HasSubstr("expected 1 types"));
  EXPECT_THAT(error_with("tokenizer.ggml.model", "llama"), HasSubstr("tokenizer.ggml.scores"));
  EXPECT_THAT(
      error_of<DataError>([&] {
        Child<Tokenizer>(GgufTokenizer::Config{.path = dir_ / "none"}).build({}, {.path = "t"});
      }),
      HasSubstr("set t.path"));
}

}  // namespace
}  // namespace axle
