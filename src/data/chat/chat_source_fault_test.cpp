// Hostile files of conversations: each line is read, skipped or refused in one line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "config/fields.h"
#include "data/chat/chat_input.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void overwrite(const std::string& path, std::string_view bytes) {
  FileWriter writer(path);
  writer.write(bytes);
  writer.close();
}

std::string error_of_file(const std::string& path, OnError on_error = OnError::kFail) {
  return error_of<DataError>([&] {
    ChatInput::Config cfg{.source = ChatSource::Config{.path = path, .on_error = on_error},
                          .seq_len = 64,
                          .batch_size = 2,
                          .on_error = on_error};
    const auto input =
        Child<Input>(std::move(cfg)).build({.vocab_size = 300, .seed = 1}, {.path = "input"});
    input->next();
  });
}

TEST(ChatSourceFault, DeepAndOddLinesAreRefused) {
  const TempDir dir;
  const std::string path = dir / "x.jsonl";
  std::string deep = R"({"messages":)";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  for (const std::string& line :
       {deep, std::string("{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}"),
        std::string(R"({"messages":[{"role":"user","content":"a","role":"b"}]})"),
        std::string(R"({"messages":[{"role":7,"content":"a"}]})"),
        std::string(R"({"messages":{"role":"user"}})"), std::string(R"({"messages":[1]})"),
        std::string(R"({"conversations":[{"from":null,"value":"a"}]})"),
        std::string(R"({"instruction":["a"],"output":"b"})"),
        std::string(R"({"messages":[{"role":"","content":"a"}]})"), std::string("\0{}", 3)}) {
    overwrite(path, line);
    const std::string message = error_of_file(path);
    EXPECT_THAT(message, StartsWith(path + ":1: ")) << message;
    EXPECT_EQ(message.find('\n'), message.npos);
    EXPECT_LT(message.size(), 400u + path.size());
  }
  // Valid JSON that the template cannot use.
  overwrite(path, R"({"messages":[{"role":"user","content":[{"a":1}]}]})");
  EXPECT_THAT(error_of_file(path),
              HasSubstr(":1: the plain template: expected contents of text, got a part"));
  overwrite(path, R"({"messages":[{"role":"user","content":"a","n":18446744073709551615}]})");
  EXPECT_THAT(error_of_file(path), StartsWith(path + ":1: "));
}

TEST(ChatSourceFault, CutAndChangedFilesAreReadOrRefused) {
  const TempDir dir;
  const std::string path = dir / "x.jsonl";
  const std::string whole =
      R"({"messages":[{"role":"user","content":"a\u00e9"},{"role":"assistant","content":"b"}],)"
      R"("tools":[{"k":1.5e3}]})"
      "\n"
      R"({"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"a"}]})"
      "\n"
      R"({"instruction":"i","input":"","output":"o"})";
  const auto check = [&](const std::string& bytes) {
    overwrite(path, bytes);
    for (const OnError policy : {OnError::kFail, OnError::kSkip}) {
      const std::string message = error_of_file(path, policy);
      EXPECT_TRUE(message == "no error" || message.starts_with(path) ||
                  message.starts_with("input.source: expected conversations with answers"))
          << message;
      EXPECT_EQ(message.find('\n'), message.npos);
    }
  };
  for (size_t size = 0; size < whole.size(); size += 3) check(whole.substr(0, size));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int trial = 0; trial < 400; ++trial) {
    std::string changed = whole;
    changed[random() % changed.size()] = static_cast<char>(random());
    check(changed);
  }
}

}  // namespace
}  // namespace axle
