#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/text_input.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/streamed_text.h"
#include "io/file.h"
#include "testing/compressed.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CorpusSourceTest : public ::testing::Test {
 protected:
  CorpusSourceTest() {
    make_directories(dir_ / "in");
    replace_file(dir_ / "in/a.jsonl", "{\"text\": \"one\"}\n\n{\"text\": \"two\", \"id\": 2}\n");
    replace_file(dir_ / "in/b.jsonl.gz", gzipped("{\"text\": \"three\"}\n"));
    replace_file(dir_ / "in/c.txt.zst", zstd_compressed("four\nfour\n"));
    replace_file(dir_ / "in/notes.md", "no");
  }
  CorpusSource::Config source() const { return {.path = dir_ / "in"}; }
  static std::vector<std::string> read(const CorpusSource::Config& cfg) {
    const auto built = Child<Source>(cfg).build({}, {.path = "input.source"});
    std::vector<std::string> out;
    for (const Document& one : built->documents())
      out.push_back(std::filesystem::path(one.where).filename().string() + " " +
                    std::string(one.text));
    return out;
  }
  std::unique_ptr<Input> input(const CorpusSource::Config& cfg) const {
    return Child<Input>(TextInput::Config{.source = cfg,
                                          .seq_len = 8,
                                          .batch_size = 1,
                                          .shuffle = Shuffle::kNone,
                                          .epochs = 1})
        .build({.vocab_size = 257, .seed = 1}, {.path = "input"});
  }
  // All rows, with "_" for padding and the token that begins documents.
  static std::string rows(Input& input) {
    std::string out;
    while (const auto batch = input.next()) {
      for (const int32_t id : batch->tensors.at("input_ids").values<int32_t>())
        out += id > 0 && id < 256 ? static_cast<char>(id) : '_';
      out += '|';
    }
    return out;
  }
  TempDir dir_;
  EnvironmentChange cache_{"XDG_CACHE_HOME", dir_ / "cache"};
};

TEST_F(CorpusSourceTest, ReadsEveryFormatOfText) {
  EXPECT_THAT(read(source()), ElementsAre("a.jsonl:1 one", "a.jsonl:3 two", "b.jsonl.gz:1 three",
                                          "c.txt.zst:1 four\nfour\n"));
  CorpusSource::Config lines = source();
  lines.path = dir_ / "in/c.txt.zst";
  lines.more_paths = {dir_ / "in/b.jsonl.gz"};
  lines.unit = DocumentUnit::kLine;
  EXPECT_THAT(read(lines),
              ElementsAre("c.txt.zst:1 four", "c.txt.zst:2 four", "b.jsonl.gz:1 three"));
}

TEST_F(CorpusSourceTest, JsonListsAreReadAsRecords) {
  CorpusSource::Config list = source();
  list.path = dir_ / "list.json";
  replace_file(list.path.get(), "[\n  {\n    \"text\": \"one\"\n  },\n  {\"text\": \"two\"}\n]\n");
  EXPECT_THAT(read(list), ElementsAre("list.json:1 one", "list.json:2 two"));
  EXPECT_THAT(rows(*input(list)), HasSubstr("one"));
  replace_file(list.path.get(), "[\n\"one\",\n\"two\"\n]");
  EXPECT_THAT(read(list), ElementsAre("list.json:1 one", "list.json:2 two"));
  replace_file(list.path.get(), "\"one\"\n\"two\"\n");
  EXPECT_THAT(error_of<DataError>([&] { read(list); }), HasSubstr("list.json: byte "));
  replace_file(list.path.get(), "[\n\"one\"\n");
  EXPECT_THAT(error_of<DataError>([&] { input(list); }), HasSubstr("list.json: byte "));
  replace_file(list.path.get(), "{\n\"text\": \"one\"\n}");
  EXPECT_THAT(error_of<DataError>([&] { input(list); }),
              HasSubstr("list.json: expected a list of records, or one in each line, got one value "
                        "of several lines"));
}

TEST_F(CorpusSourceTest, AFolderWithoutTextsIsNamed) {
  make_directories(dir_ / "other");
  replace_file(dir_ / "other/x.json", "{}");
  CorpusSource::Config config = source();
  config.path = dir_ / "other";
  const std::string message = (dir_ / "other") + ": expected texts, got no document; 1 skipped";
  EXPECT_THAT(error_of<DataError>([&] { read(config); }), HasSubstr(message));
  TextInput::Config input{.source = config, .seq_len = 8, .batch_size = 1};
  EXPECT_THAT(error_of<DataError>(
                  [&] { Child<Input>(input).build({.vocab_size = 300}, {.path = "input"}); }),
              HasSubstr(message));
}

// What a run leaves out has a policy in its config.
TEST_F(CorpusSourceTest, BrokenLinksAreNamedWithThePolicyThatSkipsThem) {
  std::filesystem::create_directory(dir_ / "linked");
  std::filesystem::create_symlink(dir_ / "nowhere.jsonl", dir_ / "linked/a.jsonl");
  CorpusSource::Config source;
  source.path = dir_ / "linked";
  TextInput::Config input{.source = source, .seq_len = 8, .batch_size = 1};
  EXPECT_THAT(error_of<DataError>(
                  [&] { Child<Input>(input).build({.vocab_size = 257}, {.path = "input"}); }),
              ::testing::AllOf(HasSubstr("a.jsonl: expected a file, got a link to nothing"),
                               HasSubstr("--set input.source.on_error=skip leaves it out"),
                               ::testing::Not(HasSubstr("SOURCES"))));
}

TEST_F(CorpusSourceTest, AnInputEncodesThemOnceIntoATokenFile) {
  TextInput::Config cfg{.source = source(), .seq_len = 8, .batch_size = 1};
  EXPECT_TRUE(is_streamed(cfg));
  cfg.prompt = Prompt{};
  EXPECT_FALSE(is_streamed(cfg));
  const auto first = input(source());
  const InputFacts facts = first->facts();
  EXPECT_EQ(facts.num_files, 3);
  EXPECT_EQ(facts.num_documents, 4);
  EXPECT_THAT(to_text(facts), HasSubstr("3 files, 21 bytes, 1 skipped (1 not *.txt or *.jsonl or"));
  const std::string shown = rows(*first);
  for (const char* text : {"one", "two", "three"}) EXPECT_THAT(shown, HasSubstr(text));
  const auto num_built = [&] {
    int64_t out = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "cache"))
      out += entry.path().extension() == ".idx";
    return out;
  };
  EXPECT_EQ(num_built(), 1);
  EXPECT_EQ(rows(*input(source())), shown);
  EXPECT_EQ(num_built(), 1);
  // Another field is another text.
  replace_file(dir_ / "in/a.jsonl", "{\"text\": \"one\", \"content\": \"1\"}\n");
  CorpusSource::Config other = source();
  other.path = dir_ / "in/a.jsonl";
  EXPECT_THAT(rows(*input(other)), HasSubstr("one"));
  other.field = "content";
  EXPECT_THAT(rows(*input(other)), HasSubstr("1"));
  EXPECT_EQ(num_built(), 3);
}

TEST_F(CorpusSourceTest, BadDocumentsFailOrAreCounted) {
  replace_file(dir_ / "in/a.jsonl", "{\"text\": \"one\"}\n{\"text\": 3}\n{\"content\": \"\"}\n");
  const char* const message = "a.jsonl:2: text: expected a text, got 3";
  EXPECT_THAT(error_of<DataError>([&] { read(source()); }), HasSubstr(message));
  EXPECT_THAT(error_of<DataError>([&] { input(source()); }), HasSubstr(message));
  EXPECT_THAT(error_of<DataError>([&] { input(source()); }), HasSubstr("input.source.on_error"));
  CorpusSource::Config skipping = source();
  skipping.on_error = OnError::kSkip;
  EXPECT_EQ(read(skipping).size(), 3u);
  EXPECT_THAT(to_text(input(skipping)->facts()), HasSubstr("2 without a text"));
  skipping.path = dir_ / "in/notes.md";
  EXPECT_EQ(read(skipping).size(), 1u);
  skipping.path = dir_ / "none";
  EXPECT_THAT(error_of<DataError>([&] { input(skipping); }), HasSubstr("got nothing there"));
}

}  // namespace
}  // namespace axle
