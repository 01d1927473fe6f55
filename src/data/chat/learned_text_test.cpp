#include "data/chat/learned_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kConversation =
    R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
    R"({"role":"user","content":"c"},{"role":"assistant","content":"d"}]})";

// The learned parts of the text.
std::vector<std::string> learned(const std::string& source, std::string_view json = kConversation,
                                 Learned which = Learned::kAssistant) {
  const Conversation conversation = conversation_of(json);
  const ChatTemplate chat(source, "chat", {{"eos_token", "</s>"}});
  const LearnedText text = learned_text(chat, conversation.messages, conversation.tools, which, {});
  std::vector<std::string> out;
  for (const auto& [begin, end, message] : text.learned)
    out.push_back(text.text.substr(begin, end - begin));
  return out;
}

TEST(LearnedText, GenerationBlocksMarkLearnedText) {
  EXPECT_THAT(learned("{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}"
                      "{% generation %}{{ m.content ~ eos_token }}{% endgeneration %}"
                      "{% else %}{{ m.content }}{% endif %}{% endfor %}"),
              ElementsAre("b</s>", "d</s>"));
  EXPECT_THAT(learned("a{{ messages|length }}", kConversation, Learned::kAll), ElementsAre("a4"));
}

TEST(LearnedText, TemplatesWithoutBlocksLearnTheTextOfEachAnswer) {
  const std::string turns =
      "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}<end>\n{% endfor %}"
      "{% if add_generation_prompt %}<assistant>\n{% endif %}";
  EXPECT_THAT(learned(turns), ElementsAre("b<end>", "d<end>"));
  // Without a generation prompt, the role belongs to the turn.
  EXPECT_THAT(learned("{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"),
              ElementsAre("a:b;", "a:d;"));
  // Without a mark, the line end is what ends the turn.
  EXPECT_THAT(learned("{% for m in messages %}{{ m.content ~ '\\n' }}{% endfor %}"),
              ElementsAre("b\n", "d\n"));
  EXPECT_THAT(learned(turns, R"({"messages":[{"role":"user","content":"a"}]})"), ElementsAre());
}

// As published: templates of models of texts print the content, others go through its parts.
TEST(LearnedText, PartsBecomeTextIfTheTemplateDoesNotReadParts) {
  const char* const json =
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
      R"({"role":"assistant","content":[{"type":"text","text":"c"}]}]})";
  const auto whole = [&](const std::string& source) {
    return learned(source, json, Learned::kAll);
  };
  EXPECT_THAT(whole("{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"),
              ElementsAre("u:ab;a:c;"));
  EXPECT_THAT(whole("{% for m in messages %}{{ m.role[0] + ':' + m.content + ';' }}{% endfor %}"),
              ElementsAre("u:ab;a:c;"));
  EXPECT_THAT(learned("{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}", json),
              ElementsAre("a:c;"));
  EXPECT_THAT(whole("{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
                    "{% for part in m.content %}{{ part.text }},{% endfor %}{% endif %};"
                    "{% endfor %}"),
              ElementsAre("ab;c;"));
  EXPECT_THAT(whole("{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
                    "{% for part in m.content %}{{ '' if loop.first else '|' }}{{ part.text }}"
                    "{% endfor %}{% endif %};{% endfor %}"),
              ElementsAre("a|b;c;"));
}

constexpr const char* kTurns =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}";
// Writes calls, and no content where there is none.
constexpr const char* kTurnsAndCalls =
    "{% for m in messages %}<{{ m.role }}>{% if m.content is not none %}{{ m.content }}{% endif %}"
    "{% for call in m.tool_calls or [] %}!{{ call.function.name }}{% endfor %}<end>{% endfor %}";
constexpr const char* kCall =
    R"("tool_calls":[{"type":"function","function":{"name":"f","arguments":{}}}])";

std::string conversation_with(const std::string& answer) {
  return R"({"messages":[{"role":"user","content":"a"},{"role":"assistant",)" + answer + "}]}";
}

TEST(LearnedText, CallsThatATemplateDropsAreRefused) {
  for (const std::string content : {R"("content":null,)", "", R"("content":"b",)"}) {
    const std::string json = conversation_with(content + kCall);
    for (const Learned which : {Learned::kAssistant, Learned::kAll}) {
      EXPECT_THAT(error_of<DataError>([&] { learned(kTurns, json, which); }),
                  HasSubstr("chat: expected a template that writes the calls of tools"))
          << json;
    }
  }
  const std::string old = R"("content":null,"function_call":{"name":"f","arguments":"{}"})";
  EXPECT_THAT(error_of<DataError>([&] { learned(kTurnsAndCalls, conversation_with(old)); }),
              HasSubstr("drops them"));
  EXPECT_THAT(learned(kTurnsAndCalls, conversation_with(R"("content":null,)" + std::string(kCall))),
              ElementsAre("<assistant>!f<end>"));
  EXPECT_THAT(learned(kTurns, conversation_with(R"("content":"b","tool_calls":[])")),
              ElementsAre("<assistant>b<end>"));
}

TEST(LearnedText, ToolsAndThoughtsThatATemplateDropsAreRefused) {
  const std::string talk =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"tools":)";
  const std::string tool = R"([{"type":"function","function":{"name":"f"}}]})";
  EXPECT_THAT(error_of<DataError>([&] { learned(kTurns, talk + tool); }),
              HasSubstr("expected a template that writes the tools of this conversation"));
  const std::string writes_tools = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}";
  EXPECT_THAT(learned(writes_tools + kTurns, talk + tool), ElementsAre("<assistant>b<end>"));
  EXPECT_THAT(learned(kTurns, talk + "[]}"), ElementsAre("<assistant>b<end>"));

  for (const std::string name : {"reasoning_content", "reasoning", "thinking"}) {
    const std::string json = conversation_with(R"("content":"b",")" + name + R"(":"why")");
    EXPECT_THAT(error_of<DataError>([&] { learned(kTurns, json); }),
                HasSubstr("writes the thoughts ('" + name + "') of this conversation"));
    const std::string writes = "{% for m in messages %}<{{ m.role }}>{% if loop.last and m." +
                               name + " %}({{ m." + name +
                               " }}){% endif %}{{ m.content }}<end>{% endfor %}";
    EXPECT_THAT(learned(writes, json), ElementsAre("<assistant>(why)b<end>"));
    const std::string earlier = R"({"messages":[{"role":"user","content":"a"},)"
                                R"({"role":"assistant","content":"b",")" +
                                name +
                                R"(":"why"},{"role":"user","content":"c"},)"
                                R"({"role":"assistant","content":"d"}]})";
    EXPECT_THAT(learned(writes, earlier), ElementsAre("<assistant>b<end>", "<assistant>d<end>"));
    EXPECT_THAT(learned(kTurns, conversation_with(R"("content":"b",")" + name + R"(":"")")),
                ElementsAre("<assistant>b<end>"));
  }
}

TEST(LearnedText, NullContentIsNotPrintedAsNone) {
  const std::string prints =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
      "{% for call in m.tool_calls or [] %}!{{ call.function.name }}{% endfor %}<end>{% endfor %}";
  const std::string json = conversation_with(R"("content":null,)" + std::string(kCall));
  EXPECT_THAT(learned(prints, json), ElementsAre("<assistant>!f<end>"));
  // Other words that are like it stay.
  const std::string name = conversation_with(R"("content":"None",)" + std::string(kCall));
  EXPECT_THAT(learned(prints, name), ElementsAre("<assistant>None!f<end>"));
  // A template may read the null.
  const std::string reads =
      "{% for m in messages %}<{{ m.role }}>{% if m.content is none %}CALL{% else %}"
      "{{ m.content }}{% endif %}"
      "{% for call in m.tool_calls or [] %}!{{ call.function.name }}{% endfor %}<end>{% endfor %}";
  EXPECT_THAT(learned(reads, json), ElementsAre("<assistant>CALL!f<end>"));
}

// In any order, and each text once for all who say it.
TEST(LearnedText, MessagesMissingFromTheRenderedTextAreCounted) {
  const auto num_left_out = [](const std::string& source) {
    const Conversation talk = conversation_of(
        R"({"messages":[{"role":"user","content":"first"},{"role":"assistant","content":"a"},)"
        R"({"role":"user","content":"second"},{"role":"assistant","content":"b"},)"
        R"({"role":"user","content":"third"},{"role":"user","content":"first"},)"
        R"({"role":"assistant","content":"c"}]})");
    const ChatTemplate chat(source, "chat", {});
    return learned_text(chat, talk.messages, talk.tools, Learned::kAssistant, {})
        .remarks[Remark::kUnwrittenOther];
  };
  EXPECT_EQ(num_left_out(kTurns), 0);
  EXPECT_EQ(num_left_out("{% for m in messages | reverse %}{{ m.content }};{% endfor %}"), 0);
  EXPECT_EQ(num_left_out("{% for m in messages[2:] %}{{ m.content }};{% endfor %}"), 0);
  EXPECT_EQ(num_left_out("{% for m in messages[:5] %}{{ m.content }};{% endfor %}"), 0);
  EXPECT_EQ(num_left_out("{% for m in messages[:2] %}{{ m.content }};{% endfor %}"), 2);
  EXPECT_EQ(num_left_out("{% for m in messages[3:] %}{{ m.content }};{% endfor %}"), 1);
}

TEST(LearnedText, NonTextPartsAreRefused) {
  const std::string reads =
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
      "{% for part in m.content %}{{ part.text or '<' ~ part.type ~ '>' }}{% endfor %}{% endif %};"
      "{% endfor %}";
  const auto with_part = [](const std::string& part) {
    return R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)" + part +
           R"(]},{"role":"assistant","content":"b"}]})";
  };
  for (const char* const type : {"image", "image_url", "input_audio", "video"}) {
    const std::string json = with_part(fmt::format(R"({{"type":"{}","url":"x"}})", type));
    for (const std::string& source : {std::string(kTurns), reads}) {
      EXPECT_THAT(
          error_of<DataError>([&] { learned(source, json); }),
          HasSubstr(fmt::format("expected contents of text, got a part of the type '{}'", type)));
    }
  }
  const std::string other = with_part(R"({"type":"quote"})");
  EXPECT_THAT(error_of<DataError>([&] { learned(kTurns, other); }),
              HasSubstr("a part of the type 'quote'"));
  EXPECT_THAT(error_of<DataError>([&] { learned(kTurns, with_part(R"({"a":1})")); }),
              HasSubstr("a part without a text"));
  EXPECT_THAT(learned(reads, other, Learned::kAll), ElementsAre("a<quote>;b;"));
}

TEST(LearnedText, AnswersOfTheWeightZeroAreNotLearned) {
  const std::string first =
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","weight":0},)"
      R"({"role":"user","content":"c"},{"role":"assistant","content":"d","weight":1}]})";
  const std::string turns =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  EXPECT_THAT(learned(turns, first), ElementsAre("d<end>"));
  const std::string block = "{% generation %}{{ m.content }}{% endgeneration %}";
  EXPECT_THAT(learned("{% for m in messages %}{% if m.role == 'assistant' %}" + block +
                          "{% else %}{{ m.content }}{% endif %}{% endfor %}",
                      first),
              ElementsAre("d"));
  EXPECT_THAT(learned(turns, first, Learned::kAll), ElementsAre(::testing::StartsWith("<user>a")));
  // One block for both answers.
  const std::string both = "{% generation %}{{ messages[1].content }}{% endgeneration %}";
  EXPECT_THAT(learned(both), ElementsAre("b"));
  EXPECT_THAT(error_of<DataError>([&] { learned(both, first); }),
              HasSubstr("expected one generation block for each answer"));
}

TEST(LearnedText, BlocksInMacrosAreRefused) {
  const std::string source =
      "{% macro m() %}{% generation %}{% endgeneration %}{% endmacro %}{{ m() }}";
  EXPECT_THAT(error_of<DataError>([&] { learned(source); }),
              HasSubstr("expected generation blocks in the template itself, got one in a macro"));
}

std::vector<int> flags(const LearnedTokens& tokens) {
  return {tokens.is_learned.begin(), tokens.is_learned.end()};
}

TEST(LearnedText, TokensAreLearnedIfTheirFirstByteIs) {
  const auto bytes = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {});
  const LearnedTokens tokens = encode_learned(*bytes, {"abcdef", {{1, 3}, {4, 6}}});
  EXPECT_THAT(tokens.ids, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  EXPECT_THAT(flags(tokens), ElementsAre(0, 1, 1, 0, 1, 1));
  EXPECT_TRUE(tokens.has_learned());
  // The first token is no target.
  EXPECT_FALSE(encode_learned(*bytes, {"ab", {{0, 1}}}).has_learned());
  EXPECT_FALSE(encode_learned(*bytes, {"", {}}).has_learned());
}

TEST(LearnedText, SpecialTokensInTheTextBecomeTheirIds) {
  const auto tokenizer = Child<Tokenizer>(HuggingFaceTokenizer::Config{
                                              .path = reference_file("tokenizers/smollm.json")})
                             .build({}, {});
  const std::string before = "<|im_start|>user\nHow many?<|end|>\n<|im_start|>assistant\n";
  const std::string said = "12 \xe7\x8c\xab<|end|>";
  const LearnedTokens tokens =
      encode_learned(*tokenizer, {before + said + "\n", {{before.size(), (before + said).size()}}});
  EXPECT_EQ(tokens.ids, tokenizer->encode_with_special(before + said + "\n"));
  EXPECT_EQ(tokens.ids[0], 2);
  // The learned ids are the answer's and its end's.
  std::vector<int32_t> learned_ids;
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    if (tokens.is_learned[i]) learned_ids.push_back(tokens.ids[i]);
  }
  EXPECT_EQ(learned_ids, tokenizer->encode_with_special(said));
  EXPECT_EQ(learned_ids.back(), 1);
}

// WordPiece drops spaces and case: the pieces do not add up to the text.
TEST(LearnedText, IdsMatchTheWholeTextIfTheTokenizerDropsBytes) {
  const auto tokenizer =
      Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/bert.json")})
          .build({}, {});
  const std::string text = "One  Two three";
  const LearnedTokens tokens = encode_learned(*tokenizer, {text, {{5, 8}}});
  EXPECT_EQ(tokens.ids, tokenizer->encode_with_special(text));
  const size_t first = tokenizer->encode("One").size(), second = tokenizer->encode("Two").size();
  ASSERT_EQ(tokens.ids.size(), tokens.is_learned.size());
  for (size_t i = 0; i < tokens.ids.size(); ++i)
    EXPECT_EQ(tokens.is_learned[i], i >= first && i < first + second) << i;
}

// Text that is normalized: the letter and its mark become one, also over the border of a part.
TEST(LearnedText, IdsMatchTheWholeTextIfLettersAreNormalized) {
  const auto tokenizer = Child<Tokenizer>(HuggingFaceTokenizer::Config{
                                              .path = reference_file("tokenizers/qwen2.json")})
                             .build({}, {});
  std::string text;
  LearnedText learned;
  for (int i = 0; i < 20; ++i) {
    text += "Cafe\xcc\x81 number " + std::to_string(i) + ": ";
    const size_t begin = text.size();
    text += i % 2 == 0 ? "re\xcc\x81sume\xcc\x81.\n"
                       : "\xcc\x81"
                         "a b c\n";
    learned.learned.push_back({begin, text.size()});
  }
  learned.text = text;
  const LearnedTokens tokens = encode_learned(*tokenizer, learned);
  EXPECT_EQ(tokens.ids, tokenizer->encode_with_special(text));
  ASSERT_EQ(tokens.ids.size(), tokens.is_learned.size());
  // Each answer ends with its line, whose first id is learned and whose next is not.
  int ends = 0;
  for (size_t i = 0; i + 1 < tokens.ids.size(); ++i)
    ends += tokens.is_learned[i] > tokens.is_learned[i + 1];
  EXPECT_EQ(ends, 19);
}

// As of Phi-3. The ids are the library tokenizers'; learned is what stands in an answer.
TEST(LearnedText, TokensThatStripSpacesTakeThemFromTheText) {
  const TempDir dir;
  auto json = nlohmann::ordered_json::parse(read_file(reference_file("tokenizers/llama2.json")));
  int id = 559;
  for (const char* const token : {"<|user|>", "<|assistant|>", "<|end|>"}) {
    json["added_tokens"].push_back({{"id", id++},
                                    {"content", token},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", true},
                                    {"normalized", false},
                                    {"special", true}});
  }
  replace_file(dir / "tokenizer.json", json.dump());
  const auto tokenizer =
      Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = dir / "tokenizer.json"}).build({}, {});
  const std::string question = "<|user|>\nHow many?<|end|>\n<|assistant|>\n",
                    answer = "  the end<|end|>",
                    then = "\n<|user|>\nAnd now?<|end|>\n<|assistant|>\n", last = "None.<|end|>";
  const std::string before = question + answer + then;
  const LearnedTokens tokens =
      encode_learned(*tokenizer, {before + last + "\n",
                                  {{question.size(), question.size() + answer.size()},
                                   {before.size(), before.size() + last.size()}}});
  EXPECT_THAT(tokens.ids,
              ElementsAre(559, 341, 75, 446, 385, 539, 313, 66, 561, 560, 355, 389, 364, 561, 559,
                          430, 364, 376, 446, 66, 561, 560, 341, 283, 369, 428, 561));
  EXPECT_THAT(flags(tokens), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0,
                                         0, 0, 1, 1, 1, 1, 1));
}

}  // namespace
}  // namespace axle
