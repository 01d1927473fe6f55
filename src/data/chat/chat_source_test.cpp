#include "data/chat/chat_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "config/fields.h"
#include "io/file.h"
#include "testing/compressed.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kHi = R"({"messages":[{"role":"user","content":"hi"}]})";
const char* const kYes = R"({"messages":[{"role":"user","content":"yes"}]})";

class ChatSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Source> build(ChatSource::Config cfg) const {
    return Child<Source>(std::move(cfg)).build({}, {.path = "input.source"});
  }
  std::vector<std::string> read(const std::string& path) const {
    std::vector<std::string> out;
    const auto source = build({.path = path});
    for (const Document& one : source->documents())
      out.push_back(one.where.substr(one.where.rfind('/') + 1) + " " + std::string(one.text));
    return out;
  }
  std::string error(ChatSource::Config cfg) const {
    return error_of<DataError>([&] { build(std::move(cfg)); });
  }
  TempDir dir_;
  std::string path_ = dir_ / "x.jsonl";
};

TEST_F(ChatSourceTest, EachLineIsAConversation) {
  replace_file(path_, std::string(kHi) + "\n\n" +
                          R"({"conversations": [{"from": "human", "value": "yes"}], "id": 3})");
  EXPECT_THAT(read(path_),
              ElementsAre(std::string("x.jsonl:1 ") + kHi, std::string("x.jsonl:3 ") + kYes));
}

TEST_F(ChatSourceTest, JsonListsAreReadAsRecords) {
  const std::string list = std::string("[\n  ") + kHi + ",\n" + kYes + "]\n";
  for (const char* name : {"x.json", "x.jsonl"}) {
    replace_file(dir_ / name, list);
    EXPECT_THAT(read(dir_ / name),
                ElementsAre(std::string(name) + ":1 " + kHi, std::string(name) + ":2 " + kYes));
  }
  // Some write lines into files with the name of a list.
  replace_file(dir_ / "lines.json", std::string(kHi) + "\n" + kYes);
  EXPECT_EQ(read(dir_ / "lines.json").size(), 2u);
}

TEST_F(ChatSourceTest, CompressedFilesAndFolders) {
  make_directories(dir_ / "b/c");
  replace_file(dir_ / "a.jsonl.gz", gzipped(std::string(kHi) + "\n"));
  replace_file(dir_ / "b/c/x.json.zst", zstd_compressed(std::string("[") + kYes + "]"));
  replace_file(dir_ / "b/notes.txt", "no");
  replace_file(dir_ / ".hidden.jsonl", "no");
  const auto source = build({.path = dir_.path().string()});
  EXPECT_THAT(read(dir_.path().string()),
              ElementsAre(std::string("a.jsonl.gz:1 ") + kHi, std::string("x.json.zst:1 ") + kYes));
  EXPECT_EQ(source->num_files(), 2);
  EXPECT_EQ(to_text(source->skipped()),
            "2 skipped (1 hidden: .hidden.jsonl; 1 not *.jsonl or *.ndjson or *.parquet or *.json: "
            "notes.txt)");
  EXPECT_EQ(build({.path = dir_ / "a*", .more_paths = {dir_ / "b", dir_ / "a.jsonl.gz"}})
                ->documents()
                .size(),
            2u);
}

TEST_F(ChatSourceTest, FolderWithoutConversationsIsRefused) {
  make_directories(dir_ / "texts");
  replace_file(dir_ / "texts/a.txt", "no");
  replace_file(dir_ / "a.jsonl", std::string(kHi) + "\n");
  EXPECT_THAT(error_of<DataError>(
                  [&] { build({.path = dir_ / "a.jsonl", .more_paths = {dir_ / "texts"}}); }),
              HasSubstr((dir_ / "texts") + ": expected a folder with files *.jsonl or *.ndjson or "
                                           "*.parquet or *.json, got none of them"));
}

TEST_F(ChatSourceTest, BadLinesAreNamedOrSkipped) {
  replace_file(path_,
               std::string(kHi) + "\n{\"messages\":\n{}\n" + R"({"messages":[{"role":"user"}]})");
  EXPECT_EQ(error({.path = path_}), path_ +
                                        ":2: byte 13: expected JSON, got a syntax error; --set "
                                        "input.source.on_error=skip leaves it out");
  const auto source = build({.path = path_, .on_error = OnError::kSkip});
  EXPECT_EQ(source->documents().size(), 1u);
  EXPECT_EQ(to_text(source->skipped()),
            "3 skipped (3 no conversation: x.jsonl:2, x.jsonl:3, x.jsonl:4)");
  ASSERT_EQ(source->skipped().messages.size(), 3u);
  EXPECT_EQ(source->skipped().messages[2],
            path_ +
                ":4: messages[0]: expected the field 'content', got an object without it "
                "(input.source.on_error = skip)");
}

TEST_F(ChatSourceTest, SourceWithoutConversationsIsAnError) {
  replace_file(path_, "\n");
  EXPECT_EQ(error({.path = path_}), path_ + ": expected conversations, got none");
  replace_file(path_, "plain text");
  EXPECT_THAT(error({.path = path_}), HasSubstr(path_ + ":1: byte 1: expected JSON"));
  EXPECT_THAT(error({.path = dir_ / "none.jsonl"}), HasSubstr("got nothing there; set "
                                                              "input.source.path or --data"));
  replace_file(dir_ / "x.json", "{\n}");
  EXPECT_EQ(error({.path = dir_ / "x.json"}), dir_ / "x.json" +
                                                  ": expected a list of records, or one in each "
                                                  "line, got one value of several lines; --set "
                                                  "input.source.on_error=skip leaves it out");
}

}  // namespace
}  // namespace axle
