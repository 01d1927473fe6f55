// From files of conversations to batches: ids, targets, segments.

#include "data/chat/chat_input.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/token_files/corpus_reader.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "u:" and "a:" begin turns, ";" ends them; the answers with their ends are learned.
const char* const kTemplate =
    "{% for m in messages %}{{ m.role[0] }}:{% if m.role == 'assistant' %}"
    "{% generation %}{{ m.content }};{% endgeneration %}"
    "{% else %}{{ m.content }};{% endif %}{% endfor %}";

std::string line_of(std::initializer_list<const char*> turns) {
  std::string out;
  bool is_user = true;
  for (const char* text : turns) {
    out += fmt::format(R"({}{{"role":"{}","content":"{}"}})", out.empty() ? "" : ",",
                       is_user ? "user" : "assistant", text);
    is_user = !is_user;
  }
  return R"({"messages":[)" + out + "]}\n";
}

class ChatInputTest : public ::testing::Test {
 protected:
  ChatInputTest() { replace_file(dir_ / "chat.jinja", kTemplate); }
  ChatInput::Config config(const std::string& lines, int64_t seq_len = 24,
                           int64_t batch_size = 1) const {
    replace_file(dir_ / "x.jsonl", lines);
    return {.source = ChatSource::Config{.path = dir_ / "x.jsonl"},
            .chat_template = dir_ / "chat.jinja",
            .seq_len = seq_len,
            .batch_size = batch_size,
            .shuffle = Shuffle::kNone,
            .epochs = 1};
  }
  static std::unique_ptr<Input> build(ChatInput::Config cfg, uint64_t seed = 1,
                                      int64_t vocab_size = 512) {
    return Child<Input>(std::move(cfg))
        .build({.vocab_size = vocab_size, .seed = seed}, {.path = "input"});
  }
  // The inputs of a row as text, "_" for padding.
  static std::string inputs(const Batch& batch) {
    std::string out;
    for (const int32_t id : values(batch, "input_ids")) out += id ? static_cast<char>(id) : '_';
    return out;
  }
  // The targets of a row as text, "." where there is none.
  static std::string targets(const Batch& batch) {
    std::string out;
    for (const int32_t id : values(batch, "target_labels"))
      out += id >= 0 ? static_cast<char>(id) : '.';
    return out;
  }
  static std::string segments(const Batch& batch) {
    std::string out;
    for (const int32_t segment : values(batch, "input_segment_ids")) out += std::to_string(segment);
    return out;
  }
  static std::vector<int32_t> values(const Batch& batch, std::string_view name) {
    const auto view = batch.tensors.find(name)->second.values<int32_t>();
    return {view.begin(), view.end()};
  }
  TempDir dir_;
};

TEST_F(ChatInputTest, AnswersAreTargetsAndConversationsAreSegments) {
  const auto input = build(
      config(line_of({"hi", "yo"}) + line_of({"a", "b", "c", "d"}) + line_of({"eee", "fff"})));
  const Batch first = *input->next();
  EXPECT_EQ(inputs(first), "u:hi;a:you:a;a:b;u:c;a:d");
  EXPECT_EQ(targets(first), "......yo;.....b;......d;");
  EXPECT_EQ(segments(first), "111111111222222222222222");
  const auto positions = values(first, "input_positions");
  EXPECT_EQ(positions[8], 8);
  EXPECT_EQ(positions[9], 0);
  EXPECT_EQ(first.num_targets, 7);
  EXPECT_DOUBLE_EQ(first.num_target_bytes, 7);
  // The third does not fit into the rest of the first row: it begins the next, whole.
  const Batch second = *input->next();
  EXPECT_EQ(inputs(second), "u:eee;a:fff_____________");
  EXPECT_EQ(targets(second), ".......fff;.............");
  EXPECT_EQ(segments(second), "111111111110000000000000");
  EXPECT_EQ(num_real_positions(first), 24);
  EXPECT_EQ(num_real_positions(second), 11);
  EXPECT_FALSE(input->next().has_value());
  const InputFacts facts = input->facts();
  EXPECT_EQ(facts.num_documents, 3);
  EXPECT_EQ(facts.num_rows, 2);
  EXPECT_EQ(facts.num_batches, 2);
  EXPECT_EQ(facts.remarks[Remark::kCut], 0);
}

TEST_F(ChatInputTest, TokensBeyondTheVocabularyNameTheirDocument) {
  replace_file(dir_ / "tokenizer.json",
               R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"},)"
               R"("added_tokens": [{"id": 2, "content": "<x>", "special": true}]})");
  replace_file(dir_ / "chat.jinja",
               "{% for m in messages %}{{ m.content }}{% endfor %}{{ '<x>' }}");
  auto cfg = config(line_of({"a", "a"}));
  cfg.tokenizer = HuggingFaceTokenizer::Config{.path = dir_ / "tokenizer.json"};
  EXPECT_THAT(error_of<DataError>([&] { build(cfg, 1, 2); }),
              HasSubstr("x.jsonl:1: expected tokens of the model's vocabulary of 2, got '<x>' with "
                        "id 2 of " +
                        (dir_ / "tokenizer.json") + " (HuggingFaceTokenizer); "));
}

TEST_F(ChatInputTest, AnswersThatTheTemplateDropsAreCounted) {
  auto cfg = config(line_of({"a", "b", "c", "d"}) + line_of({"e", "f"}));
  replace_file(dir_ / "chat.jinja",
               "{% for m in messages[-2:] %}{{ m.role[0] }}:{{ m.content }};{% endfor %}");
  const auto input = build(cfg);
  EXPECT_EQ(targets(*input->next()), "...a:d;...a:f;..........");
  EXPECT_THAT(to_text(input->facts()), HasSubstr(", 1 answer that the chat template leaves out"));
}

// As Mistral's first templates do: only a last question takes the system's text with it.
TEST_F(ChatInputTest, OtherMessagesThatTheTemplateDropsAreCounted) {
  const std::string system = R"({"role":"system","content":"be kind"})";
  std::string with_system = line_of({"a", "b"});
  with_system.insert(with_system.find('[') + 1, system + ",");
  auto cfg = config(with_system + line_of({"e", "f"}));
  replace_file(dir_ / "chat.jinja",
               "{% if messages[0].role == 'system' %}{% set s = messages[0].content %}"
               "{% set messages = messages[1:] %}{% endif %}{% for m in messages %}"
               "{{ m.role[0] }}:{% if loop.last and m.role == 'user' %}{{ s }}{% endif %}"
               "{{ m.content }};{% endfor %}");
  EXPECT_THAT(to_text(build(cfg)->facts()),
              HasSubstr(", 1 prompt message that the chat template leaves out"));
  // Its text may stand in a question, too.
  std::string same = with_system;
  same.replace(same.find("be kind"), 7, "a");
  replace_file(dir_ / "x.jsonl", same);
  EXPECT_EQ(build(cfg)->facts().remarks[Remark::kUnwrittenOther], 1);
  std::string parts = with_system;
  parts.replace(parts.find("\"be kind\""), 9, R"([{"type":"text","text":"be kind"}])");
  replace_file(dir_ / "x.jsonl", parts);
  EXPECT_EQ(build(cfg)->facts().remarks[Remark::kUnwrittenOther], 1);
  replace_file(dir_ / "x.jsonl", with_system);
  cfg.learned = Learned::kAll;
  EXPECT_EQ(build(cfg)->facts().remarks[Remark::kUnwrittenOther], 1);
  replace_file(dir_ / "chat.jinja",
               "{% for m in messages %}{{ m.role[0] }}:{{ m.content | upper }};{% endfor %}");
  EXPECT_EQ(build(cfg)->facts().remarks, Remarks());  // written, if otherwise
}

TEST_F(ChatInputTest, EmptyAnswersAreCounted) {
  const auto input = build(config(line_of({"a", " "}) + line_of({"c", "d"}) + line_of({"e", ""})));
  EXPECT_EQ(input->facts().num_documents, 3);
  EXPECT_THAT(to_text(input->facts()), HasSubstr(", 2 empty answers"));
  const std::string unlearned =
      R"({"messages":[{"role":"user","content":"q"},)"
      R"({"role":"assistant","content":"","weight":0},{"role":"user","content":"r"},)"
      R"({"role":"assistant","content":"s"}]})";
  EXPECT_EQ(build(config(unlearned))->facts().remarks, Remarks());
}

TEST_F(ChatInputTest, AnswerEndsThatAreNotTokensAreReported) {
  auto cfg = config(line_of({"a", "b"}), 64);
  cfg.chat_template.reset();  // ends answers with <|im_end|>
  EXPECT_THAT(to_text(build(cfg)->facts()),
              HasSubstr(", answers that end with '<|im_end|>', which the tokenizer spells"));
  cfg.chat_template = dir_ / "chat.jinja";  // ";" is meant to be text
  EXPECT_THAT(build(cfg)->facts().spelled_ends, ElementsAre());
  replace_file(dir_ / "chat.jinja",
               "{% for m in messages %}{{ m.content }}{{ '<|end|>' }}{% endfor %}");
  EXPECT_THAT(build(cfg)->facts().spelled_ends, ElementsAre("<|end|>"));
  cfg.tokenizer = HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/llama3.json")};
  EXPECT_THAT(build(cfg, 1, 1 << 20)->facts().spelled_ends, ElementsAre());
  // A token need not be a special one.
  std::string json = read_file(reference_file("tokenizers/llama3.json"));
  for (size_t at; (at = json.find("\"special\":true")) != json.npos;)
    json.replace(at, 14, "\"special\":false");
  replace_file(dir_ / "tokenizer.json", json);
  cfg.tokenizer = HuggingFaceTokenizer::Config{.path = dir_ / "tokenizer.json"};
  EXPECT_THAT(build(cfg, 1, 1 << 20)->facts().spelled_ends, ElementsAre());
}

TEST_F(ChatInputTest, ASourceOfTextsIsNamed) {
  auto cfg = config(line_of({"a", "b"}));
  cfg.source = CorpusSource::Config{.path = dir_ / "x.jsonl"};
  EXPECT_THAT(error_of<ConfigError>([&] { build(cfg); }),
              HasSubstr("input.source: expected a ChatSource, got CorpusSource; set "
                        "input.source=ChatSource, or for texts input=TextInput, before --data"));
}

TEST_F(ChatInputTest, BestFitLeavesTheSmallestGaps) {
  const std::string lines =
      line_of({"aaaaaaa", "b"}) + line_of({"ccccccccccc", "d"}) + line_of({"e", "f"});
  auto cfg = config(lines, 20);
  EXPECT_EQ(build(cfg)->facts().num_rows, 3);
  cfg.packing = Packing::kBestFit;
  const auto input = build(cfg);
  EXPECT_EQ(input->facts().num_rows, 2);
  EXPECT_EQ(inputs(*input->next()), "u:ccccccccccc;a:d___");
  EXPECT_EQ(inputs(*input->next()), "u:aaaaaaa;a:bu:e;a:f");
  cfg.packing = Packing::kCut;
  EXPECT_THAT(error_of<ConfigError>([&] { build(cfg); }),
              HasSubstr("input.packing: expected whole or best_fit"));
}

TEST_F(ChatInputTest, LongConversationsAreCutAfterAnAnswer) {
  const std::string lines = line_of({"a", "b", "c", "d", "e", "f"}) +
                            line_of({"a question that is too long", "b"}) + line_of({"x", "y"}) +
                            line_of({"only a question"});
  const auto input = build(config(lines, 16));
  EXPECT_EQ(inputs(*input->next()), "u:a;a:b;u:c;a:d_");
  EXPECT_EQ(inputs(*input->next()), "u:x;a:y_________");
  EXPECT_FALSE(input->next().has_value());
  EXPECT_THAT(to_text(input->facts()),
              HasSubstr(", 1 conversation cut to fit, 2 skipped (1 too long up to the first "
                        "answer: x.jsonl:2; 1 without an answer: x.jsonl:4)"));
  auto skipping = config(lines, 16);
  skipping.too_long = LongConversations::kSkip;
  EXPECT_THAT(to_text(build(skipping)->facts()),
              HasSubstr("3 skipped (2 too long: x.jsonl:1, x.jsonl:2; 1 without an answer: "));
}

TEST_F(ChatInputTest, RowThatIsExactlyFullIsNotCut) {
  EXPECT_EQ(inputs(*build(config(line_of({"aaaaa", "bbbbb"}), 15))->next()), "u:aaaaa;a:bbbbb");
  const auto cut = build(config(line_of({"a", "b", "c", "d"}), 15));
  EXPECT_EQ(inputs(*cut->next()), "u:a;a:b;u:c;a:d");
  EXPECT_EQ(cut->facts().remarks[Remark::kCut], 0);
  EXPECT_EQ(build(config(line_of({"a", "b", "c", "d"}), 14))->facts().remarks[Remark::kCut], 1);
}

TEST_F(ChatInputTest, RefusalsOfTheTemplateFailOrAreCounted) {
  replace_file(dir_ / "chat.jinja",
               std::string("{% if messages|length == 1 %}{{ raise_exception('an answer, please') }}"
                           "{% endif %}\n{{ 1 + '' if messages[0].content == 'odd' }}") +
                   kTemplate);
  auto cfg = config(line_of({"a", "b"}) + line_of({"alone"}) + line_of({"odd", "b"}));
  EXPECT_EQ(error_of<DataError>([&] { build(cfg); }),
            fmt::format("{}:2: {}:1: the template refuses: an answer, please; --set "
                        "input.on_error=skip leaves it out",
                        dir_ / "x.jsonl", dir_ / "chat.jinja"));
  cfg.on_error = OnError::kSkip;
  const InputFacts facts = build(cfg)->facts();
  EXPECT_THAT(to_text(facts), HasSubstr("2 skipped (1 not rendered: x.jsonl:3; 1 refused by the "
                                        "template: x.jsonl:2)"));
  EXPECT_THAT(facts.skipped.messages, ElementsAre(HasSubstr("an answer, please"),
                                                  HasSubstr("chat.jinja:2: expected values that")));
}

TEST_F(ChatInputTest, InputWithoutAnswersIsAnError) {
  EXPECT_EQ(
      error_of<DataError>([&] { build(config(line_of({"alone"}))); }),
      "input.source: expected conversations with answers of at most 24 positions, got none; 1 "
      "skipped (1 without an answer: x.jsonl:1)");
  auto cfg = config(line_of({"a", "b"}));
  cfg.split = Split::kTrain;
  EXPECT_EQ(
      error_of<DataError>([&] { build(cfg); }),
      "input.held_out_fraction: expected at least 2 conversations to hold out one, got 1; give "
      "more, or train without held-out ones (--set input.held_out_fraction=0 --set "
      "'evalers={}')");
  EXPECT_THAT(error_of<ConfigError>([&] {
                build(config(line_of({"a", "b"})), 1, 100);
              }),
              HasSubstr("expected at most the model's vocabulary of 100 tokens, got 257"));
}

TEST_F(ChatInputTest, AllTokensMayBeLearned) {
  auto cfg = config(line_of({"hi", "yo"}), 10);
  cfg.learned = Learned::kAll;
  EXPECT_EQ(targets(*build(cfg)->next()), ":hi;a:yo;.");
}

TEST_F(ChatInputTest, PlainTemplateIsTheDefault) {
  auto cfg = config(line_of({"q", "a"}), 80);
  cfg.chat_template = std::nullopt;
  const Batch batch = *build(cfg)->next();
  EXPECT_THAT(inputs(batch), testing::StartsWith("<|im_start|>user\nq<|im_end|>\n"
                                                 "<|im_start|>assistant\na<|im_end|>_"));
  EXPECT_EQ(batch.num_targets, 11);  // "a<|im_end|>"
}

TEST_F(ChatInputTest, SpecialTokensAreIds) {
  replace_file(dir_ / "chat.jinja",
               "{% for m in messages %}<|im_start|>{{ m.role + '\\n' + m.content }}<|end|>\n"
               "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
  auto cfg = config(line_of({"What?", "Nothing."}), 64);
  cfg.tokenizer = HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/smollm.json")};
  const auto tokenizer = cfg.tokenizer.build({}, {});
  const Batch batch = *build(cfg)->next();
  const auto expected = tokenizer->encode_with_special(
      "<|im_start|>user\nWhat?<|end|>\n<|im_start|>assistant\nNothing.<|end|>\n");
  const auto ids = values(batch, "input_ids");
  EXPECT_TRUE(std::equal(expected.begin(), expected.end() - 1, ids.begin()));
  std::vector<int32_t> learned;
  for (const int32_t id : values(batch, "target_labels")) {
    if (id >= 0) learned.push_back(id);
  }
  EXPECT_EQ(learned, tokenizer->encode_with_special("Nothing.<|end|>"));
  EXPECT_DOUBLE_EQ(batch.num_target_bytes, 8);  // names of special tokens are no text
}

TEST_F(ChatInputTest, EpochsHaveTheSameRowsInOtherOrdersAndResume) {
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    const std::string text(static_cast<size_t>(1 + i * 7 % 13), static_cast<char>('a' + i % 26));
    lines += line_of({text.c_str(), "ok"});
  }
  auto cfg = config(lines, 40);
  cfg.shuffle = Shuffle::kRows;
  cfg.epochs = 3;
  const auto input = build(cfg, 5);
  const auto num_rows = static_cast<size_t>(input->facts().num_rows);
  std::vector<std::string> rows, states;
  while (true) {
    states.push_back(input->state());
    const auto batch = input->next();
    if (!batch) break;
    rows.push_back(inputs(*batch) + targets(*batch) + segments(*batch));
  }
  ASSERT_EQ(rows.size(), 3 * num_rows);
  std::vector<std::vector<std::string>> epochs;
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(epoch * num_rows);
    epochs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(num_rows));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) std::ranges::sort(epoch);
  EXPECT_EQ(epochs[0], epochs[1]);
  EXPECT_EQ(epochs[0], epochs[2]);
  for (size_t from = 0; from < rows.size(); from += 3) {
    const auto resumed = build(cfg, 5);
    resumed->restore(states[from]);
    const auto batch = resumed->next();
    EXPECT_EQ(inputs(*batch) + targets(*batch) + segments(*batch), rows[from]) << from;
  }
  EXPECT_THAT(error_of<DataError>([&] { build(cfg, 6)->restore(states[0]); }),
              HasSubstr("expected the data of the saved position"));
}

}  // namespace
}  // namespace axle
