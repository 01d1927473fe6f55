#include "data/chat/build_chat_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "data/token_files/build_token_file.h"
#include "data/token_files/token_input.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "io/file.h"
#include "io/token_file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string line_of(int i, bool is_pair) {
  const std::string answer(static_cast<size_t>(i * 7 % 19 + 1), 'a');
  if (i % 10 == 3) return "{\"none\": 1}\n";
  if (is_pair)
    return fmt::format(R"({{"prompt":"q{}","chosen":"{}","rejected":"no"}})", i, answer) + "\n";
  return fmt::format(R"({{"instruction":"q{}","output":"{}"}})", i, answer) + "\n";
}

// Of conversations, and of pairs.
class BuildChatFile : public ::testing::TestWithParam<ChatUnit> {
 protected:
  BuildChatFile() {
    make_directories(dir_ / "in");
    for (int file = 0; file < 3; ++file) {
      std::string lines;
      for (int i = 0; i < 40; ++i) lines += line_of(40 * file + i, is_pair());
      replace_file(dir_ / fmt::format("in/{}.jsonl", file), lines);
    }
    replace_file(dir_ / "chat.jinja",
                 "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};"
                 "{% endfor %}{% if add_generation_prompt %}a:{% endif %}");
  }
  bool is_pair() const { return GetParam() == ChatUnit::kPair; }
  ChatBuild build(const std::string& out = "out") const {
    ChatBuild one{.work = {.sources = {dir_ / "in"},
                           .tokenizer = ByteTokenizer::Config{},
                           .prefix = dir_ / out,
                           .on_error = OnError::kSkip,
                           .batch_bytes = 700},
                  .where = "in",
                  .unit = GetParam(),
                  .chat_template = dir_ / "chat.jinja"};
    one.seq_len = 34;
    return one;
  }
  static TokenBuildResult run(const ChatBuild& build, const TokenBuildHooks& hooks = {}) {
    const ChatMaker maker(build, build.work.tokenizer.build({}, {.path = "tokenizer"}));
    return build_chat_file(maker, hooks);
  }
  std::string bytes_of(const std::string& out) const {
    std::string all;
    for (const char* ending : {".bin", ".idx", ".learned.bin", ".learned.idx"})
      all += read_file(dir_ / (out + ending));
    return all;
  }
  // What the card says, without the names of files.
  static std::string counts_of(const TokenCard& card) {
    return fmt::format("{} {} {} {} {} {} {} {}", card.num_documents, card.num_tokens,
                       card.text_bytes, card.piece_bytes, card.learned->num_learned,
                       card.remarks[Remark::kCut], to_text(card.skipped),
                       card.sources[1].num_documents);
  }
  TempDir dir_;
};

TEST_P(BuildChatFile, MarksLearnedTokensOfEachDocument) {
  const TokenBuildResult result = run(build());
  const TokenFile ids(dir_ / "out"), flags(dir_ / "out.learned");
  ASSERT_EQ(flags.num_tokens(), ids.num_tokens());
  int64_t num_learned = 0;
  for (int64_t i = 0; i < ids.num_documents(); ++i) {
    std::string text, learned;
    for (const int32_t id : ids.ids_of(i)) text += static_cast<char>(id);
    const std::vector<int32_t> of_it = flags.ids_of(i);
    for (size_t at = 0; at < of_it.size(); ++at) {
      if (of_it[at]) learned += text[at];
    }
    const size_t answer = text.find(";a:") + 3;
    EXPECT_EQ(learned, text.substr(answer)) << text;
    num_learned += std::ssize(learned);
  }
  EXPECT_EQ(result.card.learned->num_learned, num_learned);
  EXPECT_EQ(result.card.learned->chat_template, read_file(dir_ / "chat.jinja"));
  EXPECT_EQ(result.card.skipped.reasons.at("no conversation"), 12);
  EXPECT_EQ(result.card.has_pairs(), is_pair());
  EXPECT_EQ(result.card.skipped.reasons.contains("too long"), is_pair());
}

TEST_P(BuildChatFile, EndOfAnswersThatIsNotATokenIsOnTheCard) {
  EXPECT_THAT(run(build()).card.learned->spelled_ends, ElementsAre());  // ";" is meant to be text
  ChatBuild one = build("spelled");
  one.chat_template.reset();
  one.seq_len = 200;
  const TokenBuildResult result = run(one);
  EXPECT_THAT(result.card.learned->spelled_ends, ElementsAre("<|im_end|>"));
  EXPECT_EQ(read_token_card(one.work.prefix)->learned->spelled_ends,
            result.card.learned->spelled_ends);
}

TEST_P(BuildChatFile, KilledBuildContinuesFromItsLastSave) {
  const std::string counts = counts_of(run(build()).card);
  struct Kill {};
  int64_t num_continued = 0;
  for (int killed_at = 1; killed_at < 9; ++killed_at) {
    ChatBuild one = build(fmt::format("k{}", killed_at));
    one.work.save_secs = killed_at % 2 ? 0 : 1e9;  // after each batch, or never
    int batches = 0;
    EXPECT_THROW(run(one, {.report =
                               [&](const auto&) {
                                 if (++batches == killed_at) throw Kill();
                               }}),
                 Kill);
    EXPECT_FALSE(path_exists(one.work.prefix + ".idx"));
    const TokenBuildResult result = run(one);
    num_continued += result.num_continued;
    EXPECT_EQ(result.num_continued > 0, killed_at % 2 && killed_at > 1) << killed_at;
    EXPECT_EQ(bytes_of(fmt::format("k{}", killed_at)), bytes_of("out"));
    EXPECT_EQ(counts_of(result.card), counts);
    EXPECT_TRUE(run(one).was_there);
  }
  EXPECT_GT(num_continued, 100);
}

// The flags are finished first, and all files move one by one.
TEST_P(BuildChatFile, AKillBetweenTheLastStepsIsContinued) {
  run(build());
  const std::vector<std::string> endings = {".learned.bin", ".learned.idx", ".bin", ".idx",
                                            ".json"};
  const ChatBuild one = build("k");
  const std::string part = one.work.prefix + ".part/tokens";
  ChatBuild slow = one;
  slow.work.save_secs = 0;
  int files = 0;
  run(slow, {.should_stop = [&] { return files == 3; },
             .report = [&](const auto& p) { files = static_cast<int>(p.num_files_done); }});
  for (const char* ending : {".learned.bin", ".learned.idx"})
    replace_file(part + ending, read_file((dir_ / "out") + ending));
  remove_tree(part + ".learned.lengths");
  EXPECT_TRUE(run(one).is_finished);
  EXPECT_EQ(bytes_of("k"), bytes_of("out"));
  for (size_t moved = 0; moved < endings.size(); ++moved) {
    make_directories(one.work.prefix + ".part");
    for (size_t i = moved; i < endings.size(); ++i)
      rename_durably(one.work.prefix + endings[i], part + endings[i]);
    EXPECT_TRUE(run(one).is_finished) << moved;
    EXPECT_EQ(bytes_of("k"), bytes_of("out"));
    EXPECT_FALSE(path_exists(one.work.prefix + ".part"));
  }
}

// Cards had the counts of conversations among what they say of flags.
TEST_P(BuildChatFile, ACardOfAnEarlierVersionIsRead) {
  run(build());
  auto card = read_json(read_file(dir_ / "out.json"));
  card.erase("remarks");
  card["learned"]["cut"] = 3;
  card["learned"]["unwritten"] = 4;
  replace_file(dir_ / "out.json", card.dump());
  const Remarks remarks = read_token_card(dir_ / "out")->remarks;
  EXPECT_EQ(remarks[Remark::kCut], 3);
  EXPECT_EQ(remarks[Remark::kUnwritten], 4);
}

TEST_P(BuildChatFile, OtherSettingsDoNotReuseTheFile) {
  run(build());
  ChatBuild other = build();
  other.seq_len = 30;
  EXPECT_THAT(error_of<DataError>([&] { run(other); }),
              HasSubstr("expected nothing there, or the tokens of this very build"));
  other.work.prefix = dir_ / "small";
  other.seq_len = 2;
  EXPECT_THAT(error_of<DataError>([&] { run(other); }),
              AllOf(HasSubstr("in: expected "), HasSubstr(" at most 2 positions, got none; ")));
  EXPECT_FALSE(path_exists(dir_ / "small.part"));
  other.work.on_error = OnError::kFail;
  EXPECT_THAT(error_of<DataError>([&] { run(other); }), HasSubstr("0.jsonl:4: "));
}

// Texts, conversations and a file of another program in one mixture, or pairs, which are for models
// of their own: any row is that of a run without a stop, for any batches before.
TEST_P(BuildChatFile, MixesWithOtherKindsAndResumesAnywhere) {
  run(build());
  replace_file(dir_ / "text.txt", std::string(3000, 't'));
  build_token_file({.sources = {dir_ / "text.txt"},
                    .tokenizer = ByteTokenizer::Config{},
                    .prefix = dir_ / "text"});
  TokenFileWriter other(dir_ / "other", DType::kI32);
  for (int i = 0; i < 50; ++i)
    other.add(std::vector<int32_t>(static_cast<size_t>(5 + i % 30), 'o'));
  other.finish();
  TokenInput::Config cfg{.seq_len = 34, .batch_size = 4, .epochs = 3};
  for (const auto& [name, weight] : {std::pair("out", 0.5), {"text", 0.3}, {"other", 0.2}}) {
    if (name == std::string("out") || !is_pair())
      cfg.sources[name] = {.path = dir_ / name, .weight = weight};
  }
  cfg.sources["out"].packing = is_pair() ? Packing::kPairs : Packing::kWhole;
  cfg.sources["out"].long_documents = LongDocuments::kTruncate;
  const auto open = [&] {
    return Child<Input>(cfg).build({.vocab_size = 257, .seed = 1}, {.path = "input"});
  };
  const auto values = [](const Batch& batch) {
    std::vector<int32_t> out;
    for (const char* name : {"input_ids", "target_labels", "input_segment_ids"}) {
      const auto one = batch.tensors.find(name)->second.values<int32_t>();
      out.insert(out.end(), one.begin(), one.end());
    }
    return out;
  };
  const auto whole = open();
  std::vector<std::string> states;
  std::vector<std::vector<int32_t>> batches;
  while (const auto batch = whole->next()) {
    batches.push_back(values(*batch));
    states.push_back(whole->state());
  }
  ASSERT_GT(batches.size(), 60u);
  EXPECT_EQ(std::ranges::count(batches[0], 't') > 30, !is_pair());
  EXPECT_GT(std::ranges::count(batches[0], 'a'), 0);
  for (size_t killed_at = 0; killed_at + 1 < batches.size(); killed_at += 7) {
    const auto resumed = open();
    resumed->restore(states[killed_at]);
    EXPECT_EQ(values(*resumed->next()), batches[killed_at + 1]) << killed_at;
  }
}

// Without its flags, all of a conversation would be learned.
TEST_P(BuildChatFile, FlagFilesNamedByTheCardMustExist) {
  for (const char* missing : {"out.learned.idx", "out.learned.bin"}) {
    run(build());
    remove_tree(dir_ / missing);
    TokenInput::Config cfg{.seq_len = 34, .batch_size = 4};
    cfg.sources["out"] = {.path = dir_ / "out",
                          .packing = is_pair() ? Packing::kPairs : Packing::kWhole};
    EXPECT_THAT(error_of<DataError>([&] {
                  Child<Input>(cfg).build({.vocab_size = 257, .seed = 1}, {.path = "input"});
                }),
                HasSubstr(missing));
    for (const char* ending : {"bin", "idx", "json", "learned.bin", "learned.idx"}) {
      if (path_exists(dir_ / fmt::format("out.{}", ending)))
        remove_tree(dir_ / fmt::format("out.{}", ending));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Units, BuildChatFile,
                         ::testing::Values(ChatUnit::kConversation, ChatUnit::kPair),
                         [](const auto& one) { return to_text(one.param); });

}  // namespace
}  // namespace axle
