#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "data/chat/build_chat_file.h"
#include "io/file.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string talk(int64_t i) {
  std::string out;
  for (int turn = 0; turn <= i % 3; ++turn)
    out += fmt::format(R"({}{{"role":"user","content":"q{} {}"}},{{"role":"assistant",)"
                       R"("content":"a{} {}é"}})",
                       turn ? "," : "", i, turn, i * i % 101, turn);
  return R"({"messages":[)" + out + "]}\n";
}

class StreamedChatTest : public ::testing::Test {
 protected:
  StreamedChatTest() {
    make_directories(dir_ / "in");
    for (int file = 0; file < 3; ++file) {
      std::string lines;
      for (int i = 0; i < 400; ++i) lines += talk(400 * file + i);
      replace_file(dir_ / fmt::format("in/{}.jsonl", file), lines);
    }
    replace_file(dir_ / "in/notes.md", "no");
    replace_file(dir_ / "chat.jinja",
                 "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"
                 "{% if add_generation_prompt %}a:{% endif %}");
  }
  ChatInput::Config config(int64_t memory_bytes = 100) const {
    return {.source = ChatSource::Config{.path = dir_ / "in"},
            .chat_template = dir_ / "chat.jinja",
            .seq_len = 40,
            .batch_size = 2,
            .epochs = 1,
            .memory_bytes = memory_bytes};
  }
  PreferenceInput::Config pairs(int64_t memory_bytes = 100) const {
    return {.source = ChatSource::Config{.path = dir_ / "pairs.jsonl"},
            .chat_template = dir_ / "chat.jinja",
            .seq_len = 40,
            .batch_size = 2,
            .epochs = 1,
            .memory_bytes = memory_bytes};
  }
  template <class Config>
  static std::unique_ptr<Input> build(const Config& cfg) {
    return Child<Input>(cfg).build({.vocab_size = 257, .seed = 1}, {.path = "input"});
  }
  // Each conversation, or row, of an epoch with "." for what is no target, and how often it is
  // there.
  static std::map<std::string, int> segments_of(Input& input, bool by_rows = false) {
    std::map<std::string, int> out;
    while (const auto batch = input.next()) {
      const auto values = [&](const char* name) {
        return batch->tensors.find(name)->second.values<int32_t>();
      };
      const auto ids = values("input_ids"), labels = values("target_labels"),
                 segments = values("input_segment_ids");
      std::string one;
      for (size_t i = 0; i < ids.size(); ++i) {
        if (segments[i] == 0) continue;
        one += fmt::format("{}{}", static_cast<char>(ids[i]),
                           labels[i] < 0 ? "." : std::string(1, static_cast<char>(labels[i])));
        const bool ends_row = (i + 1) % 40 == 0 || segments[i + 1] == 0;
        if (by_rows ? ends_row : ends_row || segments[i + 1] != segments[i])
          ++out[std::exchange(one, {})];
      }
    }
    return out;
  }
  int64_t num_token_files() const {
    int64_t out = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "cache"))
      out += entry.path().string().ends_with(".learned.idx");
    return out;
  }
  TempDir dir_;
  EnvironmentChange cache_{"XDG_CACHE_HOME", dir_ / "cache"};
};

TEST_F(StreamedChatTest, EpochMatchesConversationsInMemory) {
  for (const Packing packing : {Packing::kWhole, Packing::kBestFit}) {
    ChatInput::Config small = config(), large = config(int64_t{1} << 30);
    small.packing = large.packing = packing;
    ASSERT_TRUE(is_streamed(small.source, small.memory_bytes));
    ASSERT_FALSE(is_streamed(large.source, large.memory_bytes));
    const auto streamed = build(small), in_memory = build(large);
    const InputFacts one = streamed->facts(), other = in_memory->facts();
    EXPECT_EQ(one.num_documents, other.num_documents);
    EXPECT_EQ(one.num_tokens, other.num_tokens);
    EXPECT_EQ(one.remarks[Remark::kCut], other.remarks[Remark::kCut]);
    EXPECT_GT(one.remarks[Remark::kCut], 0);
    EXPECT_EQ(one.skipped.count, 1);
    EXPECT_EQ(segments_of(*streamed), segments_of(*in_memory));
  }
  EXPECT_EQ(num_token_files(), 1);  // packing makes no other tokens
}

TEST_F(StreamedChatTest, LaterStartsReuseTheTokensAndTheCounts) {
  const std::string first = to_text(build(config())->facts());
  EXPECT_EQ(to_text(build(config())->facts()), first);
  EXPECT_THAT(first, AllOf(HasSubstr("3 files, "), HasSubstr(" cut to fit, 1 skipped")));
  ChatInput::Config other = config();
  other.seq_len = 80;
  EXPECT_EQ(build(other)->facts().remarks[Remark::kCut], 0);
  EXPECT_EQ(num_token_files(), 2);
  replace_file(dir_ / "in/0.jsonl", talk(1) + talk(2));
  EXPECT_EQ(build(config())->facts().num_documents, 802);
  EXPECT_EQ(num_token_files(), 2);  // the old text's are gone
  const auto input = build(config());
  EXPECT_THAT(input->origins_of_batch(0).at(0).where, HasSubstr(".jsonl, its document "));
}

TEST_F(StreamedChatTest, InvalidConversationsEndTheBuildWithoutLeftovers) {
  replace_file(dir_ / "in/1.jsonl", talk(1) + R"({"messages":[{"role":"user"}]})" + "\n");
  EXPECT_THAT(error_of<DataError>([&] { build(config()); }),
              AllOf(HasSubstr("1.jsonl:2: messages[0]: expected the field 'content'"),
                    HasSubstr("input.source.on_error")));
  EXPECT_EQ(num_token_files(), 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "cache"))
    EXPECT_FALSE(entry.path().string().ends_with(".part")) << entry.path();
  ChatInput::Config skipping = config();
  skipping.source.get_if<ChatSource>()->on_error = OnError::kSkip;
  EXPECT_THAT(to_text(build(skipping)->facts()), HasSubstr("1 no conversation"));
  for (const char* name : {"in/0.jsonl", "in/1.jsonl", "in/2.jsonl"})
    replace_file(dir_ / name, R"({"messages":[{"role":"user","content":"only a question"}]})");
  EXPECT_THAT(error_of<DataError>([&] { build(config()); }),
              HasSubstr("expected conversations with answers of at most 40 positions, got none; "));
}

TEST_F(StreamedChatTest, PairsMatchThoseInMemory) {
  std::string lines;
  for (int i = 0; i < 500; ++i) {
    lines += fmt::format(R"({{"prompt":"q{}","chosen":"yes {}","rejected":"no{}"}})", i, i * i % 97,
                         std::string(static_cast<size_t>(i % 25), 'o')) +
             "\n";
  }
  replace_file(dir_ / "pairs.jsonl", lines);
  const auto streamed = build(pairs()), in_memory = build(pairs(int64_t{1} << 30));
  const InputFacts one = streamed->facts(), other = in_memory->facts();
  EXPECT_EQ(one.num_documents, other.num_documents);
  EXPECT_EQ(one.num_tokens, other.num_tokens);
  EXPECT_EQ(one.num_rows, one.num_documents);
  EXPECT_EQ(one.num_rows, other.num_rows);
  EXPECT_EQ(to_text(one.skipped), to_text(other.skipped));
  EXPECT_THAT(to_text(one.skipped), HasSubstr("too long"));
  const auto rows = segments_of(*streamed, true);
  EXPECT_EQ(rows, segments_of(*in_memory, true));
  EXPECT_GT(rows.size(), 300u);
  EXPECT_THAT(streamed->origins_of_batch(0).at(1).where, HasSubstr(", the rejected answer"));
  // Both parts of a split hold whole pairs, and all of them.
  PreferenceInput::Config train = pairs(), held_out = pairs();
  train.split = Split::kTrain;
  held_out.split = Split::kHeldOut;
  auto both = segments_of(*build(train), true);
  EXPECT_LT(both.size(), rows.size());
  for (const auto& [row, count] : segments_of(*build(held_out), true)) both[row] += count;
  EXPECT_EQ(both, rows);
  EXPECT_EQ(num_token_files(), 1);
}

TEST_F(StreamedChatTest, MemoryOfPairsIsBounded) {
  {
    FileWriter file(dir_ / "pairs.jsonl");
    std::string lines;
    for (int i = 0; i < 1000; ++i) {
      lines += fmt::format(R"({{"prompt":"q{}","chosen":"{}","rejected":"no"}})", i,
                           std::string(300, 'y')) +
               "\n";
    }
    while (file.size() < 24'000'000) file.write(lines);
  }
  PreferenceInput::Config cfg = pairs();
  cfg.seq_len = 400;
  const int64_t before = peak_resident_bytes();
  const auto input = build(cfg);
  EXPECT_GT(input->facts().num_documents, 60'000);
  for (int i = 0; i < 500; ++i) input->next();
  EXPECT_LT(peak_resident_bytes() - before, int64_t{24} << 20);
}

// The flags belong to the ids.
TEST_F(StreamedChatTest, FlagsOfAnotherFileAreRefused) {
  build(config());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "cache")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".learned.idx")) continue;
    TokenFileWriter flags(token_file_prefix(path), DType::kU8);
    flags.add(std::vector<int32_t>{1, 0, 1});
    flags.finish();
  }
  EXPECT_THAT(error_of<DataError>([&] { build(config()); }),
              HasSubstr("expected a flag for each of"));
}

TEST_F(StreamedChatTest, MemoryIsBounded) {
  {
    FileWriter file(dir_ / "in/big.jsonl");
    std::string lines;
    for (int i = 0; i < 1000; ++i) lines += talk(i);
    while (file.size() < 16'000'000) file.write(lines);
  }
  ChatInput::Config cfg = config();
  cfg.source = ChatSource::Config{.path = dir_ / "in/big.jsonl"};
  const int64_t before = peak_resident_bytes();
  const auto input = build(cfg);
  EXPECT_GT(input->facts().num_documents, 80'000);
  for (int i = 0; i < 500; ++i) input->next();
  EXPECT_LT(peak_resident_bytes() - before, int64_t{24} << 20);
}

}  // namespace
}  // namespace axle
