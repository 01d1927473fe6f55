// Conversations from Parquet, by Arrow's library, if it is here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/fields.h"
#include "data/chat/chat_source.h"
#include "data/data_file.h"
#include "io/parquet/parquet_texts.h"
#include "testing/checkout.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> read(const std::string& path) {
  const auto source =
      Child<Source>(ChatSource::Config{.path = path}).build({}, {.path = "input.source"});
  std::vector<std::string> out;
  for (const Document& one : source->documents())
    out.push_back(one.where.substr(one.where.rfind(':') + 1) + " " + std::string(one.text));
  return out;
}

// Messages are lists of structs, or texts of JSON; fields that are null are not there.
TEST(ChatParquet, RowsAreConversations) {
  if (!find_parquet_adapter())
    GTEST_SKIP() << "Arrow's library is not here; `./dev parquet` fetches it";
  for (const char* name : {"parquet/chat.parquet", "parquet/chat_texts.parquet"}) {
    const std::string path = reference_file(name);
    EXPECT_EQ(data_kind_at(path), DataKind::kConversations);
    EXPECT_THAT(
        read(path),
        ElementsAre(R"(1 {"messages":[{"role":"system","content":"Be \"brief\".\n"},)"
                    R"({"role":"user","content":"1 + 2?\u0001"},)"
                    R"({"role":"assistant","content":null,"tool_calls":[{"id":"1","function":)"
                    R"({"name":"add","arguments":"{\"a\": 1, \"b\": 2}"}}]},)"
                    R"({"role":"tool","content":"3"}]})",
                    R"(2 {"messages":[{"role":"user","content":"猫?"},)"
                    R"({"role":"assistant","content":"ねこ"}]})",
                    R"(3 {"messages":[{"role":"user","content":""},)"
                    R"({"role":"assistant","content":"back\\slash","tool_calls":[]}]})"));
  }
  EXPECT_EQ(data_kind_at(reference_file("parquet/required.parquet")), DataKind::kCorpus);
}

}  // namespace
}  // namespace axle
