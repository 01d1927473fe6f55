// Damaged and hostile tokenizer.json: an error that names the file, or a tokenizer that works.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/fields.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/mutants.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

// Small tokenizers that name every part.
const char* const kBytePairs = R"({"version": "1.0", "truncation": null, "padding": null,
"added_tokens": [{"id": 5, "content": "<s>", "single_word": true, "lstrip": true, "rstrip": true,
                  "normalized": true, "special": true}],
"normalizer": {"type": "Sequence", "normalizers": [
  {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "y"},
  {"type": "Prepend", "prepend": "_"}, {"type": "Strip", "strip_left": true, "strip_right": true},
  {"type": "BertNormalizer", "clean_text": true, "strip_accents": null, "lowercase": true}]},
"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
  {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": false},
  {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": true},
  {"type": "Digits", "individual_digits": true}, {"type": "FixedLength", "length": 5},
  {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}]},
"post_processor": {"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
  "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}}},
"decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "_"},
  "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
  {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
"model": {"type": "BPE", "dropout": null, "unk_token": "u", "continuing_subword_prefix": "",
  "end_of_word_suffix": "", "fuse_unk": true, "byte_fallback": true, "ignore_merges": true,
  "vocab": {"a": 0, "b": 1, "u": 2, "ab": 3, "abb": 4}, "merges": ["a b", ["ab", "b"]]}})";
const char* const kUnigram = R"({"added_tokens": [],
"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""},
"post_processor": {"type": "BertProcessing", "sep": ["b", 1], "cls": ["a", 0]},
"decoder": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"},
"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
  "vocab": [["a", -1.5], ["b", -2], ["ab", -3]]}})";
const char* const kWordPiece = R"({"pre_tokenizer": {"type": "BertPreTokenizer"},
"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
"model": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##",
  "max_input_chars_per_word": 100, "vocab": {"a": 0, "##b": 1, "u": 2}}})";

class HuggingFaceFault : public ::testing::Test {
 protected:
  void use(const std::string& bytes) {
    FileWriter(path_).write(bytes);
    const auto tokenizer =
        Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = path_}).build({}, {});
    for (const char* text : {"", "abab b<s> aXx 12_3", "caf\xc3\xa9 \xef\xbc\xa1 \xe7\x8c\xab",
                             "\xff\xc3", "a\xcc\x81"}) {
      const auto ids = tokenizer->encode_with_special(text);
      for (const int32_t id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer->vocab_size());
      tokenizer->decode(tokenizer->framed(ids));
    }
  }
  std::string error_for(const std::string& bytes) {
    return error_of<DataError>([&] { use(bytes); });
  }
  // Puts a value at a location in a document.
  std::string error_with(const char* document, const char* place, const Json& value) {
    Json json = Json::parse(document);
    json[Json::json_pointer(place)] = value;
    return error_for(json.dump());
  }
  TempDir dir_;
  std::string path_ = dir_ / "tokenizer.json";
};

TEST_F(HuggingFaceFault, EveryValueReplacedByExtremes) {
  EXPECT_EQ(error_for(kBytePairs), "no error");
  EXPECT_EQ(error_for(kWordPiece), "no error");
  int refused = 0;
  for (const char* document : {kBytePairs, kUnigram, kWordPiece}) {
    for (const JsonMutant& mutant : json_mutants(Json::parse(document))) {
      refused +=
          ends_well([&] { use(mutant.text); }, {ExitCode::kData, ExitCode::kUser}, mutant.what);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(HuggingFaceFault, DamagedBytes) {
  int refused = 0;
  for (const char* document : {kBytePairs, kUnigram, kWordPiece}) {
    for (const std::string& bytes : mutants(document, 500, 4096))
      refused += ends_well([&] { use(bytes); }, {ExitCode::kData}, "damage");
  }
  EXPECT_GT(refused, 300);
}

TEST_F(HuggingFaceFault, MistakesAreNamedWithTheirPath) {
  EXPECT_EQ(error_with(kBytePairs, "/model/merges/1", Json::array({"ab", "c"})),
            path_ + ": model.merges[1]: expected two tokens of the vocabulary, got [\"ab\",\"c\"]");
  EXPECT_EQ(error_with(kBytePairs, "/model/merges/0", "b b"),
            path_ +
                ": model.merges[0]: expected two tokens whose union is in the vocabulary, got "
                "\"b b\"");
  EXPECT_EQ(error_with(kBytePairs, "/model/vocab/a", 1 << 30),
            path_ + ": model.vocab['a']: expected an id of 0 to 16777215, got 1073741824");
  EXPECT_EQ(
      error_with(kBytePairs, "/model/type", "GPT"),
      path_ + ": model.type: expected one of BPE, Unigram, WordPiece, WordLevel, got \"GPT\"");
  EXPECT_EQ(error_with(kBytePairs, "/added_tokens/0/id", 7),
            path_ + ": added_tokens[0].id: expected 5, the id of '<s>' by the vocabulary, got 7");
  for (const Json& none : {Json(nullptr), Json(0), Json(0.0)})
    EXPECT_EQ(error_with(kBytePairs, "/model/dropout", none), "no error");
  for (const Json& dropout : {Json(0.1), Json(1), Json("0")}) {
    EXPECT_EQ(error_with(kBytePairs, "/model/dropout", dropout),
              path_ + ": model.dropout: expected null or 0, which gives a text the same ids each " +
                  "time, got " + dropout.dump());
  }
  EXPECT_EQ(error_with(kUnigram, "/model/unk_id", 3),
            path_ + ": model.unk_id: expected an integer of 0 to 2, got 3");
  EXPECT_THAT(error_with(kBytePairs, "/normalizer/normalizers/1/pattern/Regex", "("),
              HasSubstr("normalizer.normalizers[1].pattern.Regex: expected a regular expression, "
                        "got '(' (missing closing parenthesis)"));
  EXPECT_THAT(error_with(kUnigram, "/normalizer/precompiled_charsmap", "AAQAAA=="),
              HasSubstr("got a table of normalized characters of an impossible size"));
}

TEST_F(HuggingFaceFault, MissingNamedTokensAreAddedAtTheEnd) {
  replace_file(path_, kBytePairs);
  const auto with = [&](const char* config) {
    replace_file(dir_ / "tokenizer_config.json", config);
    return Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = path_}).build({}, {});
  };
  const auto plain = with("{}");
  const auto named = with(R"({"bos_token": "<b>", "eos_token": "</s>", "pad_token": "<none>"})");
  EXPECT_EQ(plain->vocab_size(), 6);
  EXPECT_EQ(named->vocab_size(), 9);
  EXPECT_EQ(named->special_ids().eos, 7);
  EXPECT_EQ(named->special_ids().pad, 8);
  EXPECT_EQ(named->encode_with_special("ab<b></s>").back(), 7);
  EXPECT_NE(named->fingerprint(), plain->fingerprint());
  const auto same = with(R"({"bos_token": null, "eos_token": "<s>"})");
  EXPECT_EQ(same->special_ids().eos, 5);
  EXPECT_EQ(same->vocab_size(), 6);
  EXPECT_EQ(same->fingerprint(), plain->fingerprint());
}

TEST_F(HuggingFaceFault, MistakesInAdjacentFilesAreNamed) {
  replace_file(path_, kBytePairs);
  const std::string config = dir_ / "tokenizer_config.json";
  const auto error_of_config = [&](const char* text) {
    replace_file(config, text);
    return error_of<DataError>(
        [&] { Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = path_}).build({}, {}); });
  };
  EXPECT_EQ(error_of_config(R"({"added_tokens_decoder": {"x": {"content": "<a>"}}})"),
            config +
                ": added_tokens_decoder['x']: expected an id of 0 to 16777215 as its name, got "
                "'x'");
  EXPECT_EQ(
      error_of_config(R"({"added_tokens_decoder": {"6": {"id": 6}}})"),
      config +
          ": added_tokens_decoder['6']: expected the field 'content', got an object without it");
  EXPECT_EQ(error_of_config(R"({"additional_special_tokens": "<a>"})"),
            config + ": additional_special_tokens: expected a list, got \"<a>\"");
  EXPECT_EQ(error_of_config(R"({"extra_special_tokens": {"image": 7}})"),
            config + ": extra_special_tokens['image']: expected a text, got 7");
  EXPECT_EQ(error_of_config(R"({"add_bos_token": true, "model_token": 7})"), "no error");
}

TEST_F(HuggingFaceFault, DepthAndTimeAreBounded) {
  std::string sequence = R"({"type": "NFC"})";
  for (int depth = 0; depth < 100; ++depth)
    sequence = fmt::format(R"({{"type": "Sequence", "normalizers": [{}]}})", sequence);
  EXPECT_THAT(error_for(fmt::format(R"({{"normalizer": {}}})", sequence)),
              HasSubstr("expected at most 64 nested objects and lists"));
  // A pattern that backtracks for ever.
  EXPECT_THAT(
      error_with(kBytePairs, "/normalizer",
                 {{"type", "Replace"}, {"pattern", {{"Regex", "(a|b|ab)*c"}}}, {"content", ""}}),
      "no error");
  Json json = Json::parse(kBytePairs);
  json["normalizer"] = {
      {"type", "Replace"}, {"pattern", {{"Regex", "(a|aa)+[^a]"}}}, {"content", ""}};
  FileWriter(path_).write(json.dump());
  const auto tokenizer =
      Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = path_}).build({}, {});
  EXPECT_THAT(error_of<DataError>([&] { tokenizer->encode(std::string(5000, 'a')); }),
              HasSubstr("expected a pattern that matches or fails within"));
}

TEST_F(HuggingFaceFault, ReplacementsCannotFillTheMemory) {
  Json json = Json::parse(kBytePairs);
  Json& steps = json["normalizer"]["normalizers"] = Json::array();
  for (int i = 0; i < 60; ++i)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  EXPECT_THAT(error_for(json.dump()),
              HasSubstr("expected normalizers that make a text at most 64"));
  steps = Json::array({{{"type", "Replace"},
                        {"pattern", {{"String", "a"}}},
                        {"content", std::string(2'000'000, 'a')}}});
  EXPECT_THAT(error_for(json.dump()),
              HasSubstr("expected normalizers that make a text at most 64"));
  EXPECT_THAT(error_with(kWordPiece, "/model/continuing_subword_prefix", std::string(100, '#')),
              HasSubstr("model.continuing_subword_prefix: expected a text of at most 64 bytes"));
}

// The number of ids of a template: its parts times the ids of each part.
TEST_F(HuggingFaceFault, APostProcessorCannotFillTheMemory) {
  const auto template_of = [](size_t num_parts, size_t num_ids) {
    const Json part = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
    Json parts(num_parts, part);
    parts.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    return Json{{"type", "TemplateProcessing"},
                {"single", parts},
                {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", Json(num_ids, 5)}}}}}};
  };
  const auto error_of_frame = [&](const Json& frame) {
    return error_with(kBytePairs, "/post_processor", frame);
  };
  const int64_t before = peak_resident_bytes();
  EXPECT_EQ(error_of_frame(template_of(8, 128)), "no error");
  EXPECT_EQ(error_of_frame(template_of(1000, 20'000)),
            path_ +
                ": post_processor.special_tokens.<s>.ids: expected post-processors that put at "
                "most 1024 ids around a text, got a list of 20000");
  EXPECT_EQ(error_of_frame(template_of(20'000, 0)),
            path_ +
                ": post_processor.single: expected a template of at most 1024 parts, got a list "
                "of 20001");
  const auto sequence_of = [](size_t count, const Json& one) {
    return Json{{"type", "Sequence"}, {"processors", Json(count, one)}};
  };
  EXPECT_THAT(error_of_frame(sequence_of(9, template_of(1, 128))),
              HasSubstr("that put at most 1024 ids around a text"));
  EXPECT_THAT(error_of_frame(sequence_of(
                  513, {{"type", "BertProcessing"}, {"sep", {"b", 1}}, {"cls", {"a", 0}}})),
              HasSubstr("that put at most 1024 ids around a text"));
  EXPECT_LT(peak_resident_bytes() - before, int64_t{256} << 20);
}

// For any model, and also where the last character is none of the vocabulary.
TEST_F(HuggingFaceFault, ALongPieceTakesLittleTime) {
  Json words = Json::parse(kWordPiece);
  words["model"]["max_input_chars_per_word"] = INT32_MAX;
  words["model"]["vocab"] = {{"a", 0}, {"##a", 1}, {"u", 2}, {std::string(100, 'a') + "b", 3}};
  const std::string longest(1 << 20, 'a');
  std::unique_ptr<Tokenizer> tokenizer;
  for (const std::string& bytes : {std::string(kBytePairs), std::string(kUnigram), words.dump()}) {
    use(bytes);
    tokenizer = Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = path_}).build({}, {});
    EXPECT_FALSE(tokenizer->encode(longest).empty());
    EXPECT_FALSE(tokenizer->encode(longest + "z").empty());
  }
  EXPECT_EQ(tokenizer->encode(longest).size(), longest.size());
  EXPECT_THAT(tokenizer->encode(longest + "z"), ::testing::ElementsAre(2));
}

}  // namespace
}  // namespace axle
