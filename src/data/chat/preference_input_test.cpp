#include <gmock/gmock.h>

#include "data/chat/chat_input.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTemplate =
    "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}";

class PreferenceInputTest : public ::testing::Test {
 protected:
  std::unique_ptr<Input> build(const std::string& lines, int64_t seq_len = 20,
                               Shuffle shuffle = Shuffle::kNone,
                               const char* source = kTemplate) const {
    replace_file(dir_ / "chat.jinja", source);
    replace_file(dir_ / "x.jsonl", lines);
    return Child<Input>(
               PreferenceInput::Config{.source = ChatSource::Config{.path = dir_ / "x.jsonl"},
                                       .chat_template = dir_ / "chat.jinja",
                                       .seq_len = seq_len,
                                       .batch_size = 1,
                                       .shuffle = shuffle,
                                       .epochs = 1})
        .build({.vocab_size = 512, .seed = 1}, {.path = "input"});
  }
  // Inputs, targets and segments of the next row, as texts.
  static std::string row(Input& input) {
    const auto batch = input.next();
    if (!batch) return "none";
    const auto text = [&](const char* name, auto show) {
      std::string out;
      for (const int32_t v : batch->tensors.at(name).values<int32_t>()) out += show(v);
      return out;
    };
    return text("input_ids", [](int32_t v) { return v ? static_cast<char>(v) : '_'; }) + " " +
           text("target_labels", [](int32_t v) { return v < 0 ? '.' : static_cast<char>(v); }) +
           " " + text("input_segment_ids", [](int32_t v) { return static_cast<char>('0' + v); });
  }
  TempDir dir_;
};

TEST_F(PreferenceInputTest, ARowHoldsBothAnswersOfAPair) {
  const auto input = build(
      R"({"prompt": "q", "chosen": "yes", "rejected": "no"})"
      "\n"
      R"({"prompt": [{"role": "user", "content": "r"}], "chosen": [{"role": "assistant", "content": "a"}], "rejected": [{"role": "assistant", "content": "b"}]})"
      "\n");
  EXPECT_EQ(row(*input), "u:q;a:yesu:q;a:no___ .....yes;.....no;... 11111111122222222000");
  EXPECT_EQ(row(*input), "u:r;a:au:r;a:b______ .....a;.....b;...... 11111112222222000000");
  EXPECT_EQ(row(*input), "none");
  EXPECT_EQ(input->facts().num_documents, 2);
}

// What both conversations have in common is no answer, also if the assistant said it.
TEST_F(PreferenceInputTest, RowsMarkWhetherTheyHoldAPair) {
  build(R"({"prompt": "q", "chosen": "yes", "rejected": "no"})"
        "\n"
        R"({"prompt": "r", "chosen": "a", "rejected": "b"})"
        "\n"
        R"({"prompt": "s", "chosen": "c", "rejected": "d"})"
        "\n");
  const auto input =
      Child<Input>(PreferenceInput::Config{.source = ChatSource::Config{.path = dir_ / "x.jsonl"},
                                           .chat_template = dir_ / "chat.jinja",
                                           .seq_len = 20,
                                           .batch_size = 2,
                                           .epochs = 1})
          .build({.vocab_size = 512, .seed = 1}, {.path = "input"});
  EXPECT_EQ(input->element_spec().at("is_pair"), (Type{DType::kI32, {2}}));
  EXPECT_EQ(input->next()->tensors.at("is_pair"), HostTensor({2}, {1, 1}));
  EXPECT_EQ(input->next()->tensors.at("is_pair"), HostTensor({2}, {1, 0}));
}

TEST_F(PreferenceInputTest, LearnsOnlyMessagesThatDiffer) {
  const std::string start =
      R"({"role": "user", "content": "q"}, {"role": "assistant", "content": "s"}, {"role": "user", "content": "t"})";
  const auto with = [&](const char* answer) {
    return "[" + start + R"(, {"role": "assistant", "content": ")" + answer + "\"}]";
  };
  const std::string line = R"({"chosen": )" + with("y") + R"(, "rejected": )" + with("n") + "}\n";
  EXPECT_EQ(row(*build(line, 30)),
            "u:q;a:s;u:t;a:yu:q;a:s;u:t;a:n .............y;.............n; "
            "111111111111111222222222222222");
  const std::string shared = R"({"conversations": [{"from": "human", "value": "q"}], )"
                             R"("chosen": {"from": "gpt", "value": "y"}, )"
                             R"("rejected": {"from": "gpt", "value": "n"}})";
  EXPECT_EQ(row(*build(shared, 14)), "u:q;a:yu:q;a:n .....y;.....n; 11111112222222");
}

// The template writes answers that are not the last otherwise, and blocks say what is learned.
TEST_F(PreferenceInputTest, SharedAnswersMayBeRewrittenByTheTemplate) {
  const auto line = [](const char* answer) {
    return std::string(R"([{"role": "user", "content": "q"}, )"
                       R"({"role": "assistant", "content": "long"}, )"
                       R"({"role": "assistant", "content": ")") +
           answer + "\"}]";
  };
  const std::string pair = R"({"chosen": )" + line("y") + R"(, "rejected": )" + line("n") + "}\n";
  const char* const rewrites =
      "{% for m in messages %}{{ m.content if loop.last else m.content[:1] }};{% endfor %}";
  EXPECT_EQ(row(*build(pair, 12, Shuffle::kNone, rewrites)),
            "q;l;yq;l;n__ ...y;...n;.. 111112222200");
  const char* const blocks =
      "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}"
      "{{ m.content if loop.last else m.content[:1] }};{% endgeneration %}{% else %}"
      "{{ m.content }};{% endif %}{% endfor %}";
  EXPECT_EQ(row(*build(pair, 12, Shuffle::kNone, blocks)),
            row(*build(pair, 12, Shuffle::kNone, rewrites)));
  const char* const outside = "{% generation %}{{ messages[2].content }};{% endgeneration %}";
  EXPECT_THAT(error_of<DataError>([&] { build(pair, 12, Shuffle::kNone, outside); }),
              HasSubstr("expected one generation block for each answer, or blocks in a loop"));
}

// UltraFeedback's messages have their content first.
TEST_F(PreferenceInputTest, MessagesAreTheSameInAnyOrderOfFields) {
  const auto input = build(
      R"({"prompt": "q", "chosen": [{"content": "q", "role": "user"}, {"content": "y", "role": "assistant"}], )"
      R"("rejected": [{"role": "user", "content": "q"}, {"content": "n", "role": "assistant"}]})");
  EXPECT_EQ(row(*input), "u:q;a:yu:q;a:n______ .....y;.....n;...... 11111112222222000000");
}

TEST_F(PreferenceInputTest, AnswersToDifferentQuestionsAreSkipped) {
  const std::string good = R"({"prompt": "q", "chosen": "y", "rejected": "n"})";
  const auto input = build(good + "\n" +
                           R"({"chosen": "\n\nHuman: hi\n\nAssistant: yo", )"
                           R"("rejected": "\n\nHuman: ho\n\nAssistant: no"})");
  EXPECT_EQ(input->facts().num_documents, 1);
  EXPECT_THAT(to_text(input->facts()),
              HasSubstr("1 skipped (1 with answers to two questions: x.jsonl:2)"));
}

TEST_F(PreferenceInputTest, PairsThatDoNotFitAreCounted) {
  const std::string fits = R"({"prompt": "q", "chosen": "y", "rejected": "n"})";
  const auto input =
      build(fits + "\n" + R"({"prompt": "q", "chosen": "yes", "rejected": "no, never"})" + "\n" +
                R"({"prompt": "q", "chosen": "same", "rejected": "same"})" + "\n",
            16);
  EXPECT_EQ(input->facts().num_documents, 1);
  EXPECT_THAT(to_text(input->facts()), HasSubstr("2 skipped (1 too long: x.jsonl:2; 1 with two "
                                                 "equal answers: x.jsonl:3)"));
  EXPECT_THAT(to_text(build(fits + "\n" +
                                R"({"chosen": [{"role": "user", "content": "q"}], )"
                                R"("rejected": [{"role": "user", "content": "q"}, )"
                                R"({"role": "assistant", "content": "n"}]})",
                            16)
                          ->facts()),
              HasSubstr("1 skipped (1 with two answers of which one begins the other"));
  EXPECT_THAT(
      error_of<DataError>([&] { build(R"({"prompt": "q", "chosen": "a", "rejected": null})"); }),
      HasSubstr("x.jsonl:1: rejected: expected an answer, got null"));
  EXPECT_THAT(error_of<DataError>([&] { build(fits, 3); }),
              HasSubstr("expected pairs of answers that take at most 3 positions, got none"));
  EXPECT_THAT(error_of<DataError>([&] { build(R"({"chosen": "a", "rejected": "b"})"); }),
              HasSubstr("x.jsonl:1: expected the field 'prompt'"));
  EXPECT_THAT(error_of<DataError>(
                  [&] { build(R"({"messages": [{"role": "assistant", "content": "a"}]})"); }),
              HasSubstr("x.jsonl:1: expected a pair of answers, as in other records, got a "
                        "conversation; keep pairs of answers in files of their own"));
  EXPECT_THAT(error_of<DataError>([&] { build(R"({"prompt": "a"})"); }),
              HasSubstr("expected a conversation ("));
}

// What both conversations have in common counts once.
TEST_F(PreferenceInputTest, RemarksCountSharedMessagesOnce) {
  const std::string shared = R"([{"role": "user", "content": "q"}, )"
                             R"({"role": "assistant", "content": ""}, )"
                             R"({"role": "user", "content": "r"}])";
  const auto input = build(R"({"prompt": )" + shared + R"(, "chosen": "y", "rejected": "n"})" +
                               "\n" + R"({"prompt": "q", "chosen": "y", "rejected": ""})",
                           40);
  EXPECT_THAT(to_text(input->facts()), HasSubstr(", 2 empty answers"));
}

TEST_F(PreferenceInputTest, ShufflingKeepsPairsTogether) {
  std::string lines;
  for (int i = 0; i < 9; ++i)
    lines += R"({"prompt": ")" + std::to_string(i) + R"(", "chosen": "y", "rejected": "n"})" + "\n";
  const auto input = build(lines, 14, Shuffle::kRows);
  std::string order;
  for (int i = 0; i < 9; ++i) {
    const std::string one = row(*input);
    const std::string n(1, one[2]);
    EXPECT_EQ(one, "u:" + n + ";a:yu:" + n + ";a:n .....y;.....n; 11111112222222");
    order += n;
  }
  EXPECT_NE(order, "012345678");
  std::ranges::sort(order);
  EXPECT_EQ(order, "012345678");
}

}  // namespace
}  // namespace axle
