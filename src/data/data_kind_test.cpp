#include <gtest/gtest.h>

#include <filesystem>

#include "data/data_file.h"
#include "io/file.h"
#include "testing/compressed.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

constexpr const char* kTalk = R"({"messages":[{"role":"user","content":"hi"}]})";
constexpr const char* kText = R"({"text": "hi"})";

class DataKindTest : public ::testing::Test {
 protected:
  DataKind kind(const std::string& name, const std::string& bytes) const {
    replace_file(dir_ / name, bytes);
    return data_kind_at(dir_ / name);
  }
  TempDir dir_;
};

TEST_F(DataKindTest, KindFollowsTheNameAndTheFirstRecord) {
  EXPECT_EQ(kind("x.jsonl", std::string("\n") + kTalk), DataKind::kConversations);
  EXPECT_EQ(kind("a.json", std::string("[\n") + kTalk + "]"), DataKind::kConversations);
  EXPECT_EQ(kind("x.ndjson", kTalk), DataKind::kConversations);
  EXPECT_EQ(kind("p.json", R"([{"prompt": "q", "chosen": "y", "rejected": "n"}])"),
            DataKind::kPreferences);
  EXPECT_EQ(kind("c.jsonl", R"({"prompt": "q", "completion": "a"})"), DataKind::kConversations);
  EXPECT_EQ(kind("c.jsonl", R"({"prompt": "q", "completion": "a", "label": true})"),
            DataKind::kConversations);
  EXPECT_EQ(kind("t.jsonl", R"({"prompt": "q", "text": "a"})"), DataKind::kCorpus);
  EXPECT_EQ(kind("t.jsonl", R"({"input": "q", "output": "a", "text": "b"})"), DataKind::kCorpus);
  EXPECT_EQ(kind("q.jsonl", R"({"question": "q", "answer": "a"})"), DataKind::kConversations);
  EXPECT_EQ(kind("q.jsonl", R"({"question": "q", "answers": ["a", "b"]})"), DataKind::kCorpus);
  EXPECT_EQ(kind("hh.jsonl", R"({"chosen": "\n\nHuman: q\n\nAssistant: y", )"
                             R"("rejected": "\n\nHuman: q\n\nAssistant: n"})"),
            DataKind::kPreferences);
  EXPECT_EQ(kind("l.json", "[\n \"a\",\n \"b\"\n]"), DataKind::kCorpus);
  EXPECT_EQ(kind("t.jsonl", kText), DataKind::kCorpus);
  EXPECT_EQ(kind("o.jsonl", R"({"content": "hi"})"), DataKind::kCorpus);
  EXPECT_EQ(kind("t.jsonl.gz", gzipped(kText)), DataKind::kCorpus);
  EXPECT_EQ(kind("t.jsonl.zst", zstd_compressed(kTalk)), DataKind::kConversations);
  EXPECT_EQ(kind("t.txt", kTalk), DataKind::kText);
  EXPECT_EQ(kind("t.txt.gz", gzipped("hi")), DataKind::kCorpus);
  EXPECT_EQ(kind("t.parquet", "PAR1"), DataKind::kCorpus);
  EXPECT_EQ(kind("README", "hi"), DataKind::kText);
  // A damaged conversation is still one.
  EXPECT_EQ(kind("bad.jsonl", R"({"messages": 3})"), DataKind::kConversations);
  EXPECT_EQ(kind("bad.jsonl", std::string("{\n3\n") + kTalk), DataKind::kConversations);
  for (const char* none : {"3", "{", "", "[", "[3]", "[]"})
    EXPECT_EQ(kind("bad.jsonl", none), DataKind::kCorpus) << none;
  EXPECT_EQ(data_kind_at(dir_ / "none"), DataKind::kUnknown);
}

TEST_F(DataKindTest, KindOfPatternsAndFoldersFollowsTheirFiles) {
  kind("x.jsonl", kTalk);
  kind("y.jsonl", kText);
  EXPECT_EQ(data_kind_at(dir_ / "?.jsonl"), DataKind::kConversations);
  EXPECT_EQ(data_kind_at(dir_ / "y*.jsonl"), DataKind::kCorpus);
  EXPECT_EQ(data_kind_at(dir_.path()), DataKind::kConversations);
  kind("t.txt", "hi");
  EXPECT_EQ(data_kind_at(dir_.path()), DataKind::kText);
  kind("u.txt.zst", zstd_compressed("hi"));
  EXPECT_EQ(data_kind_at(dir_.path()), DataKind::kCorpus);
  std::filesystem::remove(dir_ / "u.txt.zst");
  kind("about.json", "{}");
  EXPECT_EQ(data_kind_at(dir_.path()), DataKind::kText);
  std::filesystem::remove(dir_ / "about.json");
  std::filesystem::remove(dir_ / "x.jsonl");
  EXPECT_EQ(data_kind_at(dir_.path()), DataKind::kCorpus);  // texts, and texts in records
  EXPECT_EQ(data_kind_at(dir_ / "*"), DataKind::kCorpus);
  kind("u.txt.zst", zstd_compressed("hi"));
  EXPECT_EQ(data_kind_at(dir_ / "*.txt*"), DataKind::kCorpus);
  std::filesystem::remove(dir_ / "t.txt");
  std::filesystem::remove(dir_ / "u.txt.zst");
  EXPECT_EQ(data_kind_at(dir_.path()), DataKind::kCorpus);
}

}  // namespace
}  // namespace axle
