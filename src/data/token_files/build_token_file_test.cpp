#include "data/token_files/build_token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "data/text_input.h"
#include "data/token_files/corpus_reader.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "io/file.h"
#include "io/token_file.h"
#include "testing/checkout.h"
#include "testing/compressed.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string json_line(const std::string& text) {
  return nlohmann::json{{"id", 7}, {"text", text}}.dump() + "\n";
}

// Texts of all lengths, some with line ends.
std::string some_text(int i) {
  std::string out = fmt::format("Document {} says: ", i);
  for (int word = 0; word < i * 37 % 101; ++word)
    out += fmt::format("{}{} ", word * i, "\n" + word % 2);
  return out;
}

class BuildTokenFile : public ::testing::Test {
 protected:
  BuildTokenFile() {
    make_directories(dir_ / "in/deep");
    std::string lines, more;
    for (int i = 0; i < 60; ++i) (i < 40 ? lines : more) += json_line(some_text(i));
    replace_file(dir_ / "in/a.jsonl", lines);
    replace_file(dir_ / "in/b.jsonl.gz", gzipped(more));
    replace_file(dir_ / "in/c.jsonl.zst", zstd_compressed(json_line("last of all")));
    replace_file(dir_ / "in/deep/d.txt", "A text.\n\nIts second\nparagraph.\n");
    replace_file(dir_ / "in/notes.md", "no");
  }
  TokenBuild build(const std::string& out = "out") const {
    return {.sources = {dir_ / "in"},
            .tokenizer = ByteTokenizer::Config{},
            .prefix = dir_ / out,
            .batch_bytes = 700};
  }
  std::string bytes_of(const std::string& out) const {
    return read_file(dir_ / (out + ".bin")) + read_file(dir_ / (out + ".idx"));
  }
  TempDir dir_;
  EnvironmentChange cache_{"XDG_CACHE_HOME", dir_ / "cache"};
};

TEST_F(BuildTokenFile, DocumentsOfAllKindsOfFiles) {
  const TokenBuildResult result = build_token_file(build());
  ASSERT_TRUE(result.is_finished);
  const TokenFile file(dir_ / "out");
  ASSERT_EQ(file.num_documents(), 62);
  const auto tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {.path = "t"});
  for (int64_t i = 0; i < 62; ++i) {
    const std::vector<int32_t> ids = file.ids_of(i);
    EXPECT_EQ(ids.front(), ByteTokenizer::kBoundary);
    EXPECT_EQ(ids.back(), ByteTokenizer::kBoundary);
    EXPECT_EQ(tokenizer->decode(ids), i < 60    ? some_text(static_cast<int>(i))
                                      : i == 60 ? "last of all"
                                                : "A text.\n\nIts second\nparagraph.\n");
  }
  EXPECT_EQ(to_text(result.card.skipped),
            "1 skipped (1 not *.txt or *.jsonl or *.ndjson or *.parquet: notes.md)");
  EXPECT_EQ(result.card.sources.size(), 4u);
  EXPECT_EQ(result.card.sources[1].sha256, sha256_of_file(dir_ / "in/b.jsonl.gz"));
  EXPECT_EQ(result.card.ids.sha256, sha256_of_file(dir_ / "out.bin"));
  EXPECT_EQ(result.card.num_tokens, file.num_tokens());
  EXPECT_EQ(result.card.text_bytes, file.num_tokens() - 2 * 62);
  EXPECT_EQ(result.card.piece_bytes, result.card.text_bytes);
  EXPECT_FALSE(path_exists(dir_ / "out.part"));
}

TEST_F(BuildTokenFile, IdsMatchTextInput) {
  const auto ids_by = [&](bool begins, bool ends) {
    TokenBuild one = build();
    one.sources = {dir_ / "in/deep"};
    one.tokenizer = HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/llama3.json")};
    one.prefix = dir_ / fmt::format("f{}{}", begins, ends);
    one.begins = begins;
    one.ends = ends;
    build_token_file(one);
    return TokenFile(one.prefix).ids_of(0);
  };
  const std::vector<int32_t> whole = ids_by(true, true);
  TextInput::Config text{
      .source = TextSource::Config{.path = dir_ / "in/deep"},
      .tokenizer = HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/llama3.json")},
      .seq_len = 64,
      .batch_size = 1,
      .epochs = 1};
  const auto input = Child<Input>(text).build({.vocab_size = 700, .seed = 1}, {.path = "input"});
  const Batch batch = *input->next();
  const auto row = batch.tensors.find("input_ids")->second.values<int32_t>();
  EXPECT_TRUE(std::equal(whole.begin(), whole.end() - 1, row.begin()));
  EXPECT_EQ(whole.front(), 0);
  EXPECT_EQ(ids_by(false, true), std::vector<int32_t>(whole.begin() + 1, whole.end()));
}

TEST_F(BuildTokenFile, UnitsCutTexts) {
  TokenBuild one = build("p");
  one.sources = {dir_ / "in/deep"};
  one.unit = DocumentUnit::kParagraph;
  build_token_file(one);
  const auto tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {.path = "t"});
  const TokenFile paragraphs(dir_ / "p");
  ASSERT_EQ(paragraphs.num_documents(), 2);
  EXPECT_EQ(tokenizer->decode(paragraphs.ids_of(0)), "A text.\n");
  EXPECT_EQ(tokenizer->decode(paragraphs.ids_of(1)), "Its second\nparagraph.\n");
  one.prefix = dir_ / "l";
  one.unit = DocumentUnit::kLine;
  build_token_file(one);
  const TokenFile lines(dir_ / "l");
  ASSERT_EQ(lines.num_documents(), 3);
  EXPECT_EQ(tokenizer->decode(lines.ids_of(2)), "paragraph.");
}

// Stops after every number of batches; the next call goes on there.
TEST_F(BuildTokenFile, StopsAndContinuesBitForBit) {
  build_token_file(build());
  const std::string card = read_file(dir_ / "out.json");
  int num_continued = 0;
  for (int most = 1; most < 12; ++most) {
    const std::string out = fmt::format("out{}", most);
    TokenBuildResult result;
    for (int calls = 0; !result.is_finished; ++calls) {
      ASSERT_LT(calls, 100);
      int batches = 0;
      result = build_token_file(build(out), {.should_stop = [&] { return ++batches >= most; }});
      num_continued += result.num_continued > 0;
    }
    EXPECT_EQ(bytes_of(out), bytes_of("out"));
    std::string same = read_file(dir_ / (out + ".json"));
    for (size_t at; (at = same.find(out + ".")) != same.npos;) same.replace(at, out.size(), "out");
    EXPECT_EQ(same, card);
  }
  EXPECT_GT(num_continued, 50);
}

// A kill leaves what was saved last, and perhaps more behind it.
TEST_F(BuildTokenFile, KilledBuildContinuesFromItsLastSave) {
  build_token_file(build());
  struct Kill {};
  for (int killed_at = 1; killed_at < 12; ++killed_at) {
    TokenBuild one = build(fmt::format("k{}", killed_at));
    one.save_secs = killed_at % 2 ? 0 : 1e9;  // after each batch, or never
    int batches = 0;
    EXPECT_THROW(build_token_file(one, {.report =
                                            [&](const auto&) {
                                              if (++batches == killed_at) throw Kill();
                                            }}),
                 Kill);
    EXPECT_FALSE(path_exists(one.prefix + ".idx"));
    const TokenBuildResult result = build_token_file(one);
    EXPECT_EQ(result.num_continued > 0, killed_at % 2 && killed_at > 1) << killed_at;
    EXPECT_EQ(bytes_of(fmt::format("k{}", killed_at)), bytes_of("out"));
  }
}

// The last steps: parts are written, hashed and moved.
TEST_F(BuildTokenFile, AKillBetweenTheLastStepsIsContinued) {
  build_token_file(build());
  const TokenBuild one = build("k");
  const std::string part = one.prefix + ".part/tokens";
  const auto stop_before_the_last_step = [&] {
    TokenBuild slow = one;
    slow.save_secs = 0;
    int files = 0;
    build_token_file(slow, {.should_stop = [&] { return files == 4; },
                            .report = [&](const auto& p) { files = int(p.num_files_done); }});
  };
  stop_before_the_last_step();
  for (const char* ending : {".bin", ".idx"})  // written, without a card
    replace_file(part + ending, read_file((dir_ / "out") + ending));
  EXPECT_TRUE(build_token_file(one).is_finished);
  EXPECT_EQ(bytes_of("k"), bytes_of("out"));

  make_directories(one.prefix + ".part");  // one part moved
  const std::string index = read_file(one.prefix + ".idx"), card = read_file(one.prefix + ".json");
  remove_tree(one.prefix + ".idx");
  remove_tree(one.prefix + ".json");
  replace_file(part + ".idx", index);
  replace_file(part + ".json", card);
  EXPECT_TRUE(build_token_file(one).is_finished);
  EXPECT_EQ(bytes_of("k"), bytes_of("out"));
  EXPECT_FALSE(path_exists(one.prefix + ".part"));
}

TEST_F(BuildTokenFile, SameBuildIsReusedAndAnotherIsRefused) {
  build_token_file(build());
  EXPECT_TRUE(build_token_file(build()).was_there);
  TokenBuild other = build();
  other.begins = false;
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(other); }),
              HasSubstr("out.bin: expected nothing there, or the tokens of this very build"));
  build_token_file(build("part"), {.should_stop = [] { return true; }});
  other.prefix = dir_ / "part";
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(other); }),
              HasSubstr("part.part: expected an unfinished build of the same sources"));
}

// Of the special ids, those that stand in the documents count.
TEST_F(BuildTokenFile, BeginAndEndTokensIdentifyABuild) {
  using Config = HuggingFaceTokenizer::Config;
  const Config first{.path = reference_file("tokenizers/llama3.json"), .eos = "<|end|>"};
  Config other_begin = first, other_end = first, other_padding = first;
  other_begin.bos = other_end.eos = other_padding.pad = "<|im_start|>";
  const auto with = [&](const std::string& out, const Config& tokenizer, bool begins = true) {
    TokenBuild one = build(out);
    one.tokenizer = tokenizer;
    one.begins = begins;
    return one;
  };
  const TokenCard card = build_token_file(with("out", first)).card;
  build_token_file(with("bare", first, false));
  build_token_file(with("part", first), {.should_stop = [] { return true; }});
  const auto check = [&](const Config& tokenizer) {
    check_tokenizer(card, *Child<Tokenizer>(tokenizer).build({}, {}), "out", "input.tokenizer");
  };
  for (const Config& other : {other_begin, other_end}) {
    EXPECT_THAT(error_of<DataError>([&] { build_token_file(with("out", other)); }),
                HasSubstr("expected nothing there, or the tokens of this very build"));
    EXPECT_THAT(error_of<DataError>([&] { build_token_file(with("part", other)); }),
                HasSubstr("expected an unfinished build of the same sources"));
  }
  EXPECT_EQ(error_of<DataError>([&] { check(other_end); }),
            "out.json: expected a tokenizer whose documents begin and end as those of out (bos 0, "
            "eos 1), got one with bos 0, eos 2; set input.tokenizer, or build the tokens again");
  EXPECT_THAT(error_of<DataError>([&] { check(other_begin); }),
              HasSubstr("got one with bos 2, eos 1;"));
  EXPECT_TRUE(build_token_file(with("out", other_padding)).was_there);
  EXPECT_TRUE(build_token_file(with("part", other_padding)).is_finished);
  EXPECT_TRUE(build_token_file(with("bare", other_begin, false)).was_there);
  check(other_padding);
}

TEST_F(BuildTokenFile, AChangedFileIsNotContinued) {
  build_token_file(build(), {.should_stop = [] { return true; }});
  std::string bytes = read_file(dir_ / "in/a.jsonl");
  bytes[100] ^= 1;
  replace_file(dir_ / "in/a.jsonl", bytes);
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(build()); }),
              AllOf(HasSubstr("a.jsonl: expected the file that the build began with ("),
                    HasSubstr("to start over")));
}

// For any size and modification time.
TEST_F(BuildTokenFile, EditedSourcesAreNotTheSameBuild) {
  const std::string path = dir_ / "in/a.jsonl", bytes = read_file(path);
  const auto set_time = [&](int64_t secs) {
    const timespec times[2] = {{.tv_sec = secs, .tv_nsec = 0}, {.tv_sec = secs, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  build_token_file(build());
  std::string edited = bytes;
  edited[100] ^= 1;
  const auto expect_refused = [&](const std::string& out) {
    EXPECT_THAT(error_of<DataError>([&] { build_token_file(build(out)); }),
                AllOf(HasSubstr("a.jsonl: expected the bytes that the tokens were made of, got "
                                "others; remove "),
                      HasSubstr(out + "{.bin,.idx,.json} to start over")));
  };
  for (const int64_t secs : {int64_t{1000}, int64_t{4'000'000'000}}) {
    replace_file(path, edited);
    set_time(secs);
    expect_refused("out");
    replace_file(path, bytes);
    set_time(secs);
    EXPECT_TRUE(build_token_file(build()).was_there) << "touched alone";
  }
  // A card of an earlier version, which has no state.
  std::string card = read_file(dir_ / "out.json");
  for (size_t at; (at = card.find("\"state\"")) != card.npos;) card.replace(at, 7, "\"other\"");
  replace_file(dir_ / "out.json", card);
  EXPECT_TRUE(build_token_file(build()).was_there);
  replace_file(path, edited);
  expect_refused("out");
}

// The first file is done when the build stops.
TEST_F(BuildTokenFile, AnEditedSourceIsNotContinued) {
  int files = 0;
  build_token_file(build(), {.should_stop = [&] { return files == 1; },
                             .report = [&](const auto& p) { files = int(p.num_files_done); }});
  std::string bytes = read_file(dir_ / "in/a.jsonl");
  bytes[100] ^= 1;
  replace_file(dir_ / "in/a.jsonl", bytes);
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(build()); }),
              AllOf(HasSubstr("a.jsonl: expected the bytes that the tokens were made of"),
                    HasSubstr("out.part to start over")));
}

TEST_F(BuildTokenFile, BadDocumentsAreNamedOrCounted) {
  replace_file(dir_ / "in/a.jsonl", json_line("good") + "{\"id\": 3}\n" + "{\"text\": 5}\n" +
                                        "no\n" + "{\"text\": \"a\\u0000b\"}\n" + json_line(" "));
  replace_file(dir_ / "in/e.txt", "caf\xe9");
  replace_file(dir_ / "in/f.txt", gzipped("x").substr(0, 12));
  replace_file(dir_ / "in/g.txt", "PAR1" + std::string(100, '\0'));
  TokenBuild one = build();
  EXPECT_THAT(
      error_of<DataError>([&] { build_token_file(one); }),
      HasSubstr("a.jsonl:2: expected the field 'text', got an object without it and without "
                "a conversation's, such as 'messages' or 'question' with 'answer' (id); "
                "--on-error skip leaves it out"));
  one.on_error = OnError::kSkip;  // continues
  const Skipped skipped = build_token_file(one).card.skipped;
  EXPECT_EQ(skipped.reasons.at("without a text"), 3);
  EXPECT_EQ(skipped.reasons.at("with NUL bytes"), 1);
  EXPECT_EQ(skipped.reasons.at("empty"), 1);
  EXPECT_EQ(skipped.reasons.at("not UTF-8"), 1);
  EXPECT_EQ(skipped.reasons.at("not readable to the end"), 1);
  EXPECT_THAT(skipped.messages[0], HasSubstr("a.jsonl:2: expected the field 'text'"));
  one.field = "id";
  one.prefix = dir_ / "ids";
  EXPECT_THAT(error_of<DataError>([&] {
                one.sources = {dir_ / "in/a.jsonl"};
                build_token_file(one);
              }),
              HasSubstr("expected texts, got no document; 6 skipped"));
}

TEST_F(BuildTokenFile, LinesOfJsonUnderANameOfTextAreRefused) {
  const std::string chat = R"({"messages": [{"role": "user", "content": "a"}]})";
  replace_file(dir_ / "b.txt", chat + "\n" + chat + "\n");
  TokenBuild one = build();
  one.sources = {dir_ / "b.txt"};
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(one); }),
              HasSubstr("b.txt: expected text, got lines of JSON; --data reads JSON Lines from "
                        "files named *.jsonl, *.ndjson or *.json"));
  const std::string long_one = R"({"messages": ")" + std::string(70000, 'a') + "\"}\n";
  const std::string half = R"({"messages": ")" + std::string(40000, 'a') + "\"}\n";
  for (const std::string& text : {long_one + long_one, half + half + half, "[" + chat + "]",
                                  "[\n" + chat + ",\n" + chat + "\n]", "\n" + chat}) {
    replace_file(dir_ / "b.txt", text);
    EXPECT_THAT(error_of<DataError>([&] { build_token_file(one); }),
                HasSubstr("b.txt: expected text, got lines of JSON"))
        << text.substr(0, 20);
  }
  for (const char* text : {"[a list\nof words]\n", "{brace\n", "[", "{\"a\nb"}) {
    replace_file(dir_ / "b.txt", text);
    EXPECT_EQ(build_token_file(one).num_documents, 1) << text;
    for (const char* ending : {".bin", ".idx", ".json"}) remove_tree(one.prefix + ending);
  }
  replace_file(dir_ / "b.txt", chat + "\nis a line of JSON.\n");
  EXPECT_EQ(build_token_file(one).num_documents, 1);
}

// Their ids are ids of letters: conversations that were rendered beforehand lose their marks.
TEST_F(BuildTokenFile, TextsWithNamesOfSpecialTokensAreCounted) {
  replace_file(dir_ / "tokenizer.json",
               R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"},)"
               R"("pre_tokenizer": {"type": "WhitespaceSplit"},)"
               R"("added_tokens": [{"id": 2, "content": "<|im_end|>", "special": true},)"
               R"({"id": 3, "content": "plain", "special": false}]})");
  replace_file(dir_ / "in/a.jsonl", json_line("a a<|im_end|>") + json_line("plain a <|im_start|>"));
  TokenBuild one = build();
  one.sources = {dir_ / "in/a.jsonl"};
  one.tokenizer = HuggingFaceTokenizer::Config{.path = dir_ / "tokenizer.json"};
  build_token_file(one);
  const auto card = read_token_card(dir_ / "out");
  EXPECT_THAT(card->remarks.texts(),
              ::testing::ElementsAre("1 text with names of special tokens, which stay text"));
  // A run on the same file says so too, whether it holds the file in memory or not.
  TextInput::Config input{.source = CorpusSource::Config{.path = dir_ / "in/a.jsonl"},
                          .tokenizer = one.tokenizer,
                          .seq_len = 8,
                          .batch_size = 1};
  const auto facts_of = [&] {
    return Child<Input>(input).build({.vocab_size = 8, .seed = 1}, {.path = "input"})->facts();
  };
  EXPECT_EQ(facts_of().remarks, card->remarks);
  replace_file(dir_ / "a.txt", "a a <|im_end|>");
  input.source = TextSource::Config{.path = dir_ / "a.txt"};
  EXPECT_EQ(facts_of().remarks, card->remarks);
}

TEST_F(BuildTokenFile, BrokenLinksAreSkippedAndNotCountedAsSources) {
  std::filesystem::create_symlink(dir_ / "nothing", dir_ / "in/broken.jsonl");
  std::filesystem::create_symlink("ring.txt", dir_ / "in/ring.txt");
  EXPECT_THAT(
      error_of<DataError>([&] { build_token_file(build()); }),
      HasSubstr("broken.jsonl: expected a file, got a link to nothing (No such file or directory); "
                "--on-error skip leaves it out"));
  TokenBuild skipping = build();
  skipping.on_error = OnError::kSkip;
  const TokenCard card = build_token_file(skipping).card;
  EXPECT_THAT(to_text(card.skipped), HasSubstr("2 linked to nothing: broken.jsonl, ring.txt"));
  EXPECT_EQ(card.skipped.count, 3);  // and a file of another kind
  EXPECT_EQ(card.sources.size(), 4u);
}

TEST_F(BuildTokenFile, AFolderWithoutDataIsLeftOut) {
  std::filesystem::create_directory(dir_ / "empty");
  TokenBuild skipping = build();
  skipping.sources.push_back(dir_ / "empty");
  skipping.on_error = OnError::kSkip;
  const TokenCard card = build_token_file(skipping).card;
  EXPECT_THAT(to_text(card.skipped), HasSubstr("; 1 without data: empty)"));
}

// "corpus/" would name hidden files of the folder, and a device has no files beside it.
TEST_F(BuildTokenFile, PrefixMustBeAFileName) {
  TokenBuild one = build();
  const std::string folder = dir_ / "in";
  for (const std::string& prefix : {folder + "/", folder + "/.", folder + "/..",
                                    std::string("/dev/null"), std::string("/dev/stdout")}) {
    one.prefix = prefix;
    EXPECT_THAT(error_of<ConfigError>([&] { build_token_file(one); }),
                HasSubstr("--out " + prefix +
                          ": expected the first part of the names of three "
                          "files, got a "));
  }
  EXPECT_FALSE(path_exists(folder + "/.bin"));
  one.prefix = folder;  // beside the folder
  EXPECT_TRUE(build_token_file(one).is_finished);
  EXPECT_TRUE(is_token_file(folder + ".idx"));
  EXPECT_FALSE(is_token_file(folder)) << "the folder of texts is what has this name";
}

TEST_F(BuildTokenFile, AFolderWithoutTextsIsNamed) {
  make_directories(dir_ / "other");
  replace_file(dir_ / "other/x.json", "{}");
  TokenBuild one = build();
  one.sources = {dir_ / "other"};
  EXPECT_THAT(error_of<DataError>([&] { build_token_file(one); }),
              HasSubstr((dir_ / "other") + ": expected texts, got no document; 1 skipped"));
  EXPECT_FALSE(path_exists(one.prefix + ".part"));
}

// A build that took nothing leaves nothing.
TEST_F(BuildTokenFile, ARefusedSourceLeavesNoFolder) {
  TokenBuild one = build();
  one.sources = {dir_ / "pipe"};
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of<Error>([&] { build_token_file(one); }),
              HasSubstr("pipe: expected a regular file, got a FIFO"));
  EXPECT_FALSE(path_exists(one.prefix + ".part"));
  one.sources = {dir_ / "nothing*.txt"};
  EXPECT_EQ(error_of<DataError>([&] { build_token_file(one); }),
            (dir_ / "nothing*.txt") +
                ": expected a text file or a folder of them, got a pattern that matches no file; "
                "correct SOURCES");
  EXPECT_FALSE(path_exists(one.prefix + ".part"));
}

// The memory that a build takes does not grow with its files.
TEST_F(BuildTokenFile, MemoryIsBounded) {
  {
    FileWriter file(dir_ / "in/big.jsonl");
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += json_line(some_text(i));
    while (file.size() < 60'000'000) file.write(lines);
  }
  TokenBuild one = build();
  one.batch_bytes = int64_t{1} << 20;
  one.sources = {dir_ / "in/big.jsonl"};
  const int64_t before = peak_resident_bytes();
  const TokenBuildResult result = build_token_file(one);
  EXPECT_GT(result.card.text_bytes, 50'000'000);
  EXPECT_LT(peak_resident_bytes() - before, int64_t{24} << 20);
}

// Of a document that is larger than a batch, the memory is looked up first.
TEST_F(BuildTokenFile, ADocumentThatDoesNotFitIsRefused) {
  std::string text;
  while (text.size() < size_t{24} << 20) text += "some words of a long text ";
  replace_file(dir_ / "in/big.txt", text);
  text = {};
  TokenBuild one = build();
  one.sources = {dir_ / "in/big.txt"};
  one.tokenizer = HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/smollm.json")};
  one.batch_bytes = int64_t{1} << 16;
  const LittleMemory little(int64_t{320} << 20);
  EXPECT_THAT(error_of<Error>([&] { build_token_file(one); }),
              AllOf(HasSubstr("big.txt:1: expected "),
                    HasSubstr(" of host memory for the ids of 24.0 MiB of text"),
                    HasSubstr("; split the document, or read it by lines or paragraphs")));
}

}  // namespace
}  // namespace axle
