#include "interop/export/gguf_export.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/text/text.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/gguf/tiny_gguf_test.h"
#include "interop/hugging_face.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/test_name.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const Report kQuiet = [](const std::string&) {};

Child<Tokenizer> tokenizer_of(const fs::path& file) {
  return GgufTokenizer::Config{.path = file.string()};
}

class GgufExporting : public TinyGguf {
 protected:
  ExportReport exported(const fs::path& run, ExportOptions options = {},
                        const std::string& type = "") const {
    options.run = run;
    return export_gguf({.options = options, .file = out_, .type = type}, kQuiet);
  }
  const std::string out_ = dir_ / "out.gguf";
};

class ReferenceGguf : public GgufExporting, public ::testing::WithParamInterface<std::string> {};

std::vector<std::string> reference_files() {
  std::vector<std::string> out;
  for (const fs::path& file : list_directory(reference_file("gguf/models")))
    out.push_back(file.stem().string());
  std::ranges::sort(out);
  return out;
}

TEST_P(ReferenceGguf, ExportRestoresAFileThatWasRead) {
  const fs::path original = reference_file("gguf/models/" + GetParam() + ".gguf");
  const auto config = nlohmann::json::parse(
      read_file(reference_file("hugging_face/" + GetParam() + "/config.json")));
  const ExportReport report = exported(original, {.family = config["model_type"]});
  EXPECT_EQ(report.family, config["model_type"]);
  EXPECT_EQ(report.dtype, "f32");
  EXPECT_FALSE(report.has_tokenizer);
  const GgufFile own(out_), first(original);
  EXPECT_EQ(own.names(), first.names());
  for (const std::string& name : own.names()) {
    const HostTensor values = own.get(name), expected = first.get(name);
    ASSERT_EQ(values.type(), expected.type()) << name;
    const bool is_rounded = name.starts_with("rope_") ||
                            (GetParam().starts_with("gemma") && name.ends_with("norm.weight"));
    if (!is_rounded) {
      EXPECT_EQ(values, expected) << name;
    } else {
      for (int64_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(values.at(i), expected.at(i), 1e-6 * (1 + std::abs(expected.at(i)))) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceGguf, ::testing::ValuesIn(reference_files()),
                         [](const auto& at) { return test_name(at.param); });

TEST_F(GgufExporting, DtypesRoundTrip) {
  for (const std::string type : {"BF16", "F16", "F32"}) {
    write_matrices(type);
    fs::remove(out_);
    EXPECT_EQ(exported(path_, {}, type == "F16" ? type : "").dtype, lower_case(type));
    EXPECT_EQ(GgufFile(out_).tensor("token_embd.weight").type->name, type);
    EXPECT_EQ(read_gguf(out_).parameters, read_gguf(path_).parameters);
  }
}

TEST_F(GgufExporting, TokenizerOfAGgufFileIsExported) {
  std::vector<std::string> tokens = {"<|end|>"};
  for (char letter = 'A'; tokens.size() < 38; ++letter) tokens.emplace_back(1, letter);
  metadata_.set("general.license", "mit");
  metadata_.set("tokenizer.ggml.model", "gpt2");
  metadata_.set("tokenizer.ggml.pre", "smollm");
  metadata_.set("tokenizer.ggml.tokens", tokens);
  metadata_.set("tokenizer.ggml.merges", std::vector<std::string>{});
  metadata_.set("tokenizer.ggml.eos_token_id", uint32_t{0});
  metadata_.set("tokenizer.chat_template", "{{ messages }}");
  write();
  EXPECT_TRUE(exported(path_, {}, "F16").has_tokenizer);
  const GgufMetadata own = GgufFile(out_).metadata();
  EXPECT_EQ(own.at("general.license").text(), "mit");
  EXPECT_EQ(own.at("general.file_type").integer(0, 100), 1);
  EXPECT_EQ(own.at("tokenizer.chat_template").text(), "{{ messages }}");
  // llama.cpp takes as many tokens as there are rows.
  EXPECT_EQ(own.at("tokenizer.ggml.tokens").texts().size(), 40u);
  EXPECT_EQ(own.at("tokenizer.ggml.tokens").texts()[39], "[PAD39]");
  const auto tokenizer = tokenizer_of(out_).build({}, {.path = "t"});
  EXPECT_THAT(tokenizer->encode("BA"), ::testing::ElementsAre(2, 1));
}

TEST_F(GgufExporting, ARunOnBytesHasATokenForEachByte) {
  TinyModel tiny(CausalLM::Config{
      .decoder = Decoder::Config{.model_dim = 16,
                                 .vocab_size = 300,
                                 .layers = Stacked::Config{.num_layers = 1, .layer = tiny_layer()},
                                 .lm_head = LmHead::Config{}}});
  tiny.parameters = testing::initial_parameters(*tiny.model, 3);
  save_byte_model(dir_ / "run", tiny);
  const ExportReport report = exported(dir_ / "run", {}, "BF16");
  EXPECT_THAT(to_text(report), HasSubstr("out.gguf: llama, "));
  EXPECT_THAT(to_text(report), HasSubstr(" parameters, bf16, in 1 file\n"));
  const auto own = tokenizer_of(out_).build({}, {.path = "t"}),
             bytes = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {.path = "t"});
  EXPECT_EQ(own->encode("a\xc3\xa9\n<|endoftext|> "), bytes->encode("a\xc3\xa9\n<|endoftext|> "));
  EXPECT_EQ(own->special_ids().bos, bytes->special_ids().bos);
  EXPECT_EQ(own->special_ids().eos, bytes->special_ids().eos);
  EXPECT_EQ(own->vocab_size(), 300);
  EXPECT_EQ(read_gguf(out_).max_seq_len, 20);
}

// Byte-level merges whose patterns have a name there keep their ids.
TEST(TokenizerJsonKeys, AreTheSameTokenizer) {
  const std::string text = "Hello world's 12345\n\n  caf\xc3\xa9 <|end|> _x_";
  for (const char* name : {"llama3", "gpt2", "qwen2", "smollm", "o200k"}) {
    const std::string path = reference_file("tokenizers/" + std::string(name) + ".json");
    const Child<Tokenizer> config = HuggingFaceTokenizer::Config{.path = path};
    const auto tokenizer = config.build({}, {.path = "t"});
    const GgufMetadata keys = gguf_tokenizer_keys(config, *tokenizer, tokenizer->vocab_size() + 2);
    ASSERT_TRUE(keys.contains("tokenizer.ggml.pre")) << name;
    const TempDir dir;
    replace_file(dir / "t.gguf", gguf_without_tensors(keys));
    const auto own = tokenizer_of(dir / "t.gguf").build({}, {.path = "t"});
    EXPECT_EQ(own->vocab_size(), tokenizer->vocab_size() + 2) << name;
    EXPECT_EQ(own->encode(text), tokenizer->encode(text)) << name;
    EXPECT_EQ(own->encode_with_special(text), tokenizer->encode_with_special(text)) << name;
    EXPECT_EQ(own->special_ids().bos, tokenizer->special_ids().bos) << name;
    EXPECT_EQ(own->special_ids().eos, tokenizer->special_ids().eos) << name;
  }
  for (const char* name : {"bert", "t5", "llama2", "deepseek", "words"}) {
    const std::string path = reference_file("tokenizers/" + std::string(name) + ".json");
    const Child<Tokenizer> config = HuggingFaceTokenizer::Config{.path = path};
    const auto tokenizer = config.build({}, {.path = "t"});
    EXPECT_TRUE(gguf_tokenizer_keys(config, *tokenizer, 1000).entries().empty()) << name;
  }
}

// A token of padding needs no row of the model.
TEST(TokenizerJsonKeys, IncludeTokensAddedByAdjacentFiles) {
  const TempDir dir;
  const std::string path = dir / "tokenizer.json";
  fs::copy_file(reference_file("tokenizers/smollm.json"), path);
  replace_file(dir / "tokenizer_config.json",
               R"({"added_tokens_decoder": {"360": {"content": "<|a|>", "special": true},
                                            "361": {"content": "<|b|>", "normalized": false}},
                   "eos_token": "<|e|>", "pad_token": "<|p|>"})");
  const Child<Tokenizer> config = HuggingFaceTokenizer::Config{.path = path};
  const auto tokenizer = config.build({}, {.path = "t"});
  EXPECT_EQ(tokenizer->special_ids().pad, 363);
  const GgufMetadata keys = gguf_tokenizer_keys(config, *tokenizer, 363);
  ASSERT_TRUE(keys.contains("tokenizer.ggml.pre"));
  EXPECT_FALSE(keys.contains("tokenizer.ggml.padding_token_id"));
  replace_file(dir / "t.gguf", gguf_without_tensors(keys));
  const auto own = tokenizer_of(dir / "t.gguf").build({}, {.path = "t"});
  const std::string text = "<|im_start|>Hi<|a|> there<|b|><|e|>";
  EXPECT_EQ(own->encode_with_special(text), tokenizer->encode_with_special(text));
  EXPECT_EQ(own->special_ids().eos, 362);
  EXPECT_EQ(own->token(360), "<|a|>");
  EXPECT_EQ(own->piece(361), "<|b|>");
  EXPECT_EQ(gguf_tokenizer_keys(config, *tokenizer, 364)
                .at("tokenizer.ggml.padding_token_id")
                .integer(0, 1000),
            363);
}

TEST(SentencePieceKeys, AreTheSameTokenizer) {
  const auto keys_of = [](const std::string& options, const std::string& path) {
    replace_file(path, trained_tokenizer("--vocab_size=512 --byte_fallback=true " + options));
    const Child<Tokenizer> config = SentencePieceTokenizer::Config{.path = path};
    return std::pair(config.build({}, {.path = "t"}), config);
  };
  const TempDir dir;
  const std::string path = dir / "m.model",
                    plain = "--normalization_rule_name=identity --remove_extra_whitespaces=false ";
  for (const std::string prefix : {"true", "false"}) {
    const auto [tokenizer, config] =
        keys_of("--model_type=bpe --add_dummy_prefix=" + prefix + " " + plain, path);
    const GgufMetadata keys = gguf_tokenizer_keys(config, *tokenizer, 520);
    ASSERT_FALSE(keys.entries().empty());
    replace_file(dir / "t.gguf", gguf_without_tensors(keys));
    const auto own = tokenizer_of(dir / "t.gguf").build({}, {.path = "t"});
    EXPECT_EQ(own->vocab_size(), 520);
    for (const std::string text : {"the cat  sat", " \n\xe6\x97\xa5", "a<s>b"})
      EXPECT_EQ(own->encode(text), tokenizer->encode(text)) << text;
    EXPECT_EQ(own->special_ids().bos, tokenizer->special_ids().bos);
    EXPECT_EQ(own->special_ids().eos, tokenizer->special_ids().eos);
  }
  // llama.cpp has no unigram models, and keeps spaces as they are.
  for (const std::string& options :
       {"--model_type=unigram " + plain,
        std::string("--model_type=bpe --remove_extra_whitespaces=true")}) {
    const auto [tokenizer, config] = keys_of(options, path);
    EXPECT_TRUE(gguf_tokenizer_keys(config, *tokenizer, 520).entries().empty()) << options;
  }
}

TEST(SentencePieceKeys, HaveTheAddedTokens) {
  const TempDir dir;
  const auto keys_of = [](const std::string& model) {
    const Child<Tokenizer> config = SentencePieceTokenizer::Config{.path = model};
    return gguf_tokenizer_keys(config, *config.build({}, {.path = "t"}), 608);
  };
  const auto reference = [](const std::string& name) {
    return reference_file("tokenizers/pieces_" + name + "/tokenizer.model");
  };
  const std::string model = dir / "tokenizer.model";
  std::filesystem::copy_file(reference("old"), model);
  replace_file(dir / "added_tokens.json", R"({"<|im_end|>": 601, "<|im_start|>": 600})");
  replace_file(dir / "tokenizer_config.json",
               R"({"eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]})");
  const GgufMetadata keys = keys_of(model);
  ASSERT_FALSE(keys.entries().empty());
  replace_file(dir / "t.gguf", gguf_without_tensors(keys));
  const auto own = tokenizer_of(dir / "t.gguf").build({}, {.path = "t"});
  const auto tokenizer =
      Child<Tokenizer>(SentencePieceTokenizer::Config{.path = model}).build({}, {.path = "t"});
  const std::string text = "<|im_start|>user\nHi there<|im_end|>\n";
  EXPECT_EQ(own->encode_with_special(text), tokenizer->encode_with_special(text));
  EXPECT_EQ(own->encode(text), tokenizer->encode(text));
  EXPECT_EQ(own->special_ids().eos, 601);
  EXPECT_EQ(own->token(600), "<|im_start|>");
  // As of Phi-3, which readers of GGUF know by its name.
  const auto entry = [](const std::string& content, bool strips) {
    return R"({"content":")" + content + R"(","lstrip":false,"normalized":false,"rstrip":)" +
           (strips ? "true" : "false") + R"(,"single_word":false,"special":true})";
  };
  const auto add = [&](const std::string& tokens, const std::string& entries) {
    replace_file(dir / "added_tokens.json", R"({"<|end|>": 600, "<|user|>": 601)" + tokens + "}");
    replace_file(dir / "tokenizer_config.json",
                 R"({"added_tokens_decoder":{"0":)" + entry("<unk>", false) + R"(,"1":)" +
                     entry("<s>", false) + R"(,"2":)" + entry("</s>", true) + R"(,"600":)" +
                     entry("<|end|>", true) + R"(,"601":)" + entry("<|user|>", true) + entries +
                     "}}");
  };
  add("", "");
  // llama.cpp does not load such a file without a further token.
  EXPECT_TRUE(keys_of(model).entries().empty());
  add(R"(, "<|endoftext|>": 602)", R"(,"602":)" + entry("<|endoftext|>", false));
  const GgufMetadata stripping = keys_of(model);
  ASSERT_FALSE(stripping.entries().empty());
  EXPECT_EQ(stripping.at("general.name").text(), "Phi-3");
  replace_file(dir / "s.gguf", gguf_without_tensors(stripping));
  const std::string turn = "<|user|>\nHi there<|end|> \n<|user|>";
  EXPECT_EQ(tokenizer_of(dir / "s.gguf").build({}, {.path = "t"})->encode_with_special(turn),
            Child<Tokenizer>(SentencePieceTokenizer::Config{.path = model})
                .build({}, {.path = "t"})
                ->encode_with_special(turn));
  // GGUF has no form for tokens with a space behind them that are no special ones, for tokens that
  // take spaces with them, and for one space at the beginning.
  for (const char* name : {"old", "legacy", "single"})
    EXPECT_TRUE(keys_of(reference(name)).entries().empty()) << name;
}

// The files of a tokenizer say what stands around a text, and so do the keys.
TEST(TokenizerKeys, FrameTextsLikeTheTokenizer) {
  const TempDir dir;
  const std::vector<int32_t> text = {40, 41};
  const auto check = [&](const Child<Tokenizer>& config, const std::vector<int32_t>& expected) {
    const auto tokenizer = config.build({}, {.path = "t"});
    EXPECT_EQ(tokenizer->framed(text), expected);
    const GgufMetadata keys = gguf_tokenizer_keys(config, *tokenizer, tokenizer->vocab_size());
    replace_file(dir / "t.gguf", gguf_without_tensors(keys));
    EXPECT_EQ(tokenizer_of(dir / "t.gguf").build({}, {.path = "t"})->framed(text), expected);
  };
  const auto pieces = [&](bool begins, bool ends) -> Child<Tokenizer> {
    fs::copy_file(reference_file("tokenizers/pieces_old/tokenizer.model"), dir / "tokenizer.model",
                  fs::copy_options::overwrite_existing);
    const nlohmann::json files = {{"bos_token", "<s>"},
                                  {"eos_token", "</s>"},
                                  {"add_bos_token", begins},
                                  {"add_eos_token", ends}};
    replace_file(dir / "tokenizer_config.json", files.dump());
    return SentencePieceTokenizer::Config{.path = dir / "tokenizer.model"};
  };
  check(pieces(true, false), {1, 40, 41});
  check(pieces(true, true), {1, 40, 41, 2});
  check(pieces(false, true), {40, 41, 2});
  check(pieces(false, false), {40, 41});
  const auto merges = [&](const std::string& before, const std::string& behind) {
    auto file = nlohmann::json::parse(read_file(reference_file("tokenizers/llama3.json")));
    const auto token = [](const std::string& name) {
      return nlohmann::json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
    };
    auto parts = nlohmann::json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}});
    if (!before.empty()) parts.insert(parts.begin(), token(before));
    if (!behind.empty()) parts.push_back(token(behind));
    file["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", parts},
        {"special_tokens", {{"<|begin|>", {{"ids", {0}}}}, {"<|end|>", {{"ids", {1}}}}}}};
    replace_file(dir / "tokenizer.json", file.dump());
    replace_file(dir / "tokenizer_config.json", R"({"eos_token": "<|end|>"})");
    return HuggingFaceTokenizer::Config{.path = dir / "tokenizer.json"};
  };
  check(merges("<|begin|>", "<|end|>"), {0, 40, 41, 1});
  check(merges("", "<|end|>"), {40, 41, 1});
  check(merges("<|end|>", ""), {1, 40, 41});
  check(merges("", ""), {40, 41});
}

TEST_F(GgufExporting, FilesAreNotReplaced) {
  write();
  replace_file(out_, "mine");
  EXPECT_THAT(error_of<ConfigError>([&] { exported(path_); }),
              HasSubstr("out.gguf: expected a new file, got one that exists"));
  EXPECT_EQ(read_file(out_), "mine");
}

}  // namespace
}  // namespace axle
