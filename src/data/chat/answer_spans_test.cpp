#include "data/chat/answer_spans.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/chat/learned_text.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

Json says(const char* role, const char* content) { return {{"role", role}, {"content", content}}; }

Json calls(const Json& content) {
  return {{"role", "assistant"},
          {"content", content},
          {"tool_calls", {{{"function", {{"name", "add"}, {"arguments", {{"a", 1}}}}}}}}};
}

struct Answers {
  std::vector<std::string> texts;
  std::vector<size_t> messages;
  int64_t num_left_out = 0;
  std::string text;
};

Answers answers(std::string_view source, const Json& messages) {
  const Conversation conversation = conversation_of(Json{{"messages", messages}}.dump());
  const ChatTemplate chat(source, "chat", {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  const LearnedText learned =
      learned_text(chat, conversation.messages, conversation.tools, Learned::kAssistant, {});
  Answers out{.num_left_out = learned.remarks[Remark::kUnwritten], .text = learned.text};
  for (const auto& [begin, end, message] : learned.learned) {
    out.texts.push_back(learned.text.substr(begin, end - begin));
    out.messages.push_back(message);
  }
  return out;
}

// Thoughts of answers before the last question are dropped, in content or in a field of their own;
// the last answers always have room for one, which the prompt does not begin.
constexpr std::string_view kDropsThoughts = R"(
{%- set ns = namespace(last=0) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}
{%- endfor %}
{%- for m in messages %}
  {%- if m.role == 'assistant' %}
    {%- set thought = m.thought if m.thought is defined else '' %}
    {%- set content = m.content if m.content is string else '' %}
    {%- if '</think>' in content %}
      {%- set thought = content.split('</think>')[0].split('<think>')[-1].strip('\n') %}
      {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
    {%- if loop.index0 > ns.last %}
      {{- '<|im_start|>assistant\n<think>\n' ~ thought ~ '\n</think>\n\n' ~ content }}
    {%- else %}{{- '<|im_start|>assistant\n' ~ content }}{% endif %}
    {%- for call in m.tool_calls or [] %}
      {{- '\n<tool_call>' ~ call.function.name ~ ' ' ~ call.function.arguments | tojson ~ '</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif m.role == 'tool' %}
    {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{% endif %}
    {{- '\n<tool_response>\n' ~ m.content ~ '\n</tool_response>' }}
    {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{% endif %}
  {%- else %}{{- '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %})";

TEST(AnswerPlaces, ThoughtsThatTheTemplateDropsAreNotLearned) {
  const Answers got =
      answers(kDropsThoughts, {says("system", "s"),
                               says("user", "a"),
                               says("assistant", "<think>\nfirst\n</think>\n\nb"),
                               says("user", "c"),
                               {{"role", "assistant"}, {"content", "d"}, {"thought", "second"}}});
  EXPECT_THAT(got.texts, ElementsAre("b<|im_end|>", "<think>\nsecond\n</think>\n\nd<|im_end|>"));
  EXPECT_THAT(got.messages, ElementsAre(2, 4));
  EXPECT_EQ(got.num_left_out, 0);
}

TEST(AnswerPlaces, CallsOfToolsAreLearnedAndTheirResultsAreNot) {
  const Answers got =
      answers(kDropsThoughts, {says("user", "a"), calls(""), says("tool", "1"), says("tool", "2"),
                               calls("so"), says("tool", "3"), says("assistant", "b")});
  const std::string call = "\n<tool_call>add {\"a\": 1}</tool_call><|im_end|>";
  const std::string no_thought = "<think>\n\n</think>\n\n";
  EXPECT_THAT(got.texts,
              ElementsAre(no_thought + call, no_thought + "so" + call, no_thought + "b<|im_end|>"));
}

TEST(AnswerPlaces, ContentsThatLookLikeTheTemplateAreLearnedWhole) {
  const char* const fake = "x<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb";
  const Answers got = answers(
      kDropsThoughts, {says("user", "a"), says("assistant", fake), says("user", fake),
                       says("assistant", "<|im_end|>"), says("user", "a"), says("assistant", "")});
  EXPECT_THAT(got.texts, ElementsAre(std::string(fake) + "<|im_end|>", "<|im_end|><|im_end|>",
                                     "<think>\n\n</think>\n\n<|im_end|>"));
}

// The prompt begins a thought that earlier answers do not have; calls have their own marks.
constexpr std::string_view kPromptsThoughts = R"(
{{- bos_token }}
{%- set ns = namespace(is_tool=false) %}
{%- for m in messages %}
  {%- if m.role == 'user' %}{% set ns.is_tool = false %}{{- '<User>' ~ m.content }}{% endif %}
  {%- if m.role == 'tool' %}{% set ns.is_tool = true %}{{- '<result>' ~ m.content }}{% endif %}
  {%- if m.role == 'assistant' and m.tool_calls %}
    {%- set ns.is_tool = false %}
    {%- for call in m.tool_calls %}{{- '<Assistant><tool>' ~ call.function.name ~ '<end>' }}{% endfor %}
  {%- elif m.role == 'assistant' %}
    {%- set content = m.content.split('</think>')[-1] %}
    {{- ('<results end>' if ns.is_tool else '<Assistant>') ~ content ~ '<end>' }}
    {%- set ns.is_tool = false %}
  {%- endif %}
{%- endfor %}
{%- if ns.is_tool %}{{- '<results end>' }}{% endif %}
{%- if add_generation_prompt and not ns.is_tool %}{{- '<Assistant><think>\n' }}{% endif %})";

TEST(AnswerPlaces, PromptsThatOpenAThoughtEndWhereTheAnswerDiffers) {
  const Answers got = answers(
      kPromptsThoughts, {says("user", "a"), says("assistant", "<think>\nt\n</think><b>"),
                         says("user", "c"), calls(""), says("tool", "1"), says("assistant", "d")});
  EXPECT_THAT(got.texts, ElementsAre("<b><end>", "<tool>add<end>", "d<end>"));
  EXPECT_EQ(got.text,
            "<s><User>a<Assistant><b><end><User>c<Assistant><tool>add<end><result>1<results "
            "end>d<end>");
}

// The system's text moves to the last question; calls have no content.
constexpr std::string_view kMovesSystem = R"(
{%- if messages[0].role == 'system' %}
  {%- set system = messages[0].content %}{% set rest = messages[1:] %}
{%- else %}{% set rest = messages %}{% endif %}
{%- set last = (rest | selectattr('role', 'equalto', 'user') | list)[-1] %}
{{- bos_token }}
{%- for m in rest %}
  {%- if m.role == 'user' %}
    {%- if m == last and system is defined %}{{- '[INST] ' ~ system ~ '\n\n' ~ m.content ~ '[/INST]' }}
    {%- else %}{{- '[INST] ' ~ m.content ~ '[/INST]' }}{% endif %}
  {%- elif m.tool_calls is defined %}{{- '[TOOL_CALLS] ' ~ m.tool_calls | tojson ~ eos_token }}
  {%- elif m.role == 'tool' %}
    {%- if m.content == '' %}{{ raise_exception('empty result') }}{% endif %}
    {{- '[RESULTS] ' ~ m.content ~ '[/RESULTS]' }}
  {%- elif m.role == 'assistant' %}{{- ' ' ~ m.content | trim ~ eos_token }}{% endif %}
{%- endfor %})";

TEST(AnswerPlaces, QuestionsMayBeRewrittenWhenMoreFollows) {
  const Answers got =
      answers(kMovesSystem, {says("system", "s"), says("user", "a"), says("assistant", "b "),
                             says("user", "c"), calls(""), says("tool", "1"), says("assistant", ""),
                             says("user", "e"), says("assistant", "f")});
  EXPECT_THAT(
      got.texts,
      ElementsAre(" b</s>",
                  R"([TOOL_CALLS] [{"function": {"name": "add", "arguments": {"a": 1}}}]</s>)",
                  " </s>", " f</s>"));
}

TEST(AnswerPlaces, AnswersThatTheTemplateDropsAreCounted) {
  const Json talk = {says("user", "a"), says("assistant", "b"), says("user", "c"),
                     says("assistant", "d")};
  const Answers window =
      answers("{% for m in messages[-2:] %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}", talk);
  EXPECT_THAT(window.texts, ElementsAre("<assistant>d<end>"));
  EXPECT_EQ(window.num_left_out, 1);
  const Answers questions = answers(
      "{% for m in messages if m.role == 'user' %}<{{ m.role }}>{{ m.content }}{% endfor %}", talk);
  EXPECT_THAT(questions.texts, IsEmpty());
  EXPECT_EQ(questions.num_left_out, 2);
  const Answers blocks = answers(
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% elif loop.last %}"
      "{% generation %}{{ m.content }}{% endgeneration %}{% endif %}{% endfor %}",
      talk);
  EXPECT_THAT(blocks.texts, ElementsAre("d"));
  EXPECT_THAT(blocks.messages, ElementsAre(3));
  EXPECT_EQ(blocks.num_left_out, 1);
}

TEST(AnswerPlaces, EndMarksSeparateAnswersWithoutALoopOverMessages) {
  const Json talk = {says("user", "b"), says("assistant", "b"), says("user", "c"),
                     says("assistant", "<think>t</think>d"), says("assistant", "")};
  const std::string body =
      "{{ '<' ~ m.role ~ '>' ~ m.content.split('</think>')[-1] ~ '<end>\\n' }}";
  const auto expect_places = [&](const std::string& source) {
    const Answers got = answers(source, talk);
    EXPECT_THAT(got.texts, ElementsAre("b<end>", "d<end>", "<end>")) << source;
    EXPECT_THAT(got.messages, ElementsAre(1, 3, 4));
  };
  expect_places("{% for i in range(messages|length) %}{% set m = messages[i] %}" + body +
                "{% endfor %}");
  expect_places("{% macro all(list) %}{% for m in list %}" + body +
                "{% endfor %}{% endmacro %}{{ all(messages) }}");
  // A loop that writes nothing is not where messages are.
  expect_places(
      "{% for m in messages %}{% set x = m %}{% endfor %}{% set text %}"
      "{% for m in messages %}" +
      body + "{% endfor %}{% endset %}{{ text }}");
}

TEST(AnswerPlaces, NestedLoopsBelongToTheirOwnMessages) {
  // The question asks for its answer, and each answer shows the results of its calls.
  const Answers got = answers(
      "{% for q in messages if q.role == 'user' %}{% set n = loop.index0 %}Q{{ q.content }};"
      "{% for m in messages if m.role == 'assistant' and m.to == n %}A{{ m.content }}"
      "{% for t in messages if t.role == 'tool' %}({{ t.content }}){% endfor %}!\n{% endfor %}"
      "{% endfor %}",
      {says("user", "a"),
       {{"role", "assistant"}, {"content", "b"}, {"to", 0}},
       says("tool", "t"),
       says("user", "c"),
       {{"role", "assistant"}, {"content", "d"}, {"to", 1}}});
  EXPECT_EQ(got.text, "Qa;Ab(t)!\nQc;Ad(t)!\n");
  EXPECT_THAT(got.texts, ElementsAre("Ab", "!", "Ad", "!"));
}

TEST(AnswerPlaces, TextAtTheEndIsNotPartOfThePrompt) {
  const Json talk = {says("user", "a"), says("assistant", "<b"), says("user", "c"),
                     says("assistant", "d")};
  const std::string end = "{{ '<assistant>\n' if add_generation_prompt else eos_token }}";
  EXPECT_THAT(answers("{% for m in messages %}{{ '<' ~ m.role ~ '>\n' ~ m.content ~ '<end>\n' }}"
                      "{% endfor %}" +
                          end,
                      talk)
                  .texts,
              ElementsAre("<b<end>", "d<end>"));
  // Without a mark in the turn, the end of the text is what ends the last one.
  EXPECT_THAT(answers("{% for m in messages %}{{ '<' ~ m.role ~ '>\n' ~ m.content ~ '\n' }}"
                      "{% endfor %}" +
                          end,
                      talk)
                  .texts,
              ElementsAre("<b\n", "d\n</s>"));
}

TEST(AnswerPlaces, ContentOfCallsMayBeNullOrEmpty) {
  const Json talk = {says("user", "a"), calls(nullptr), says("tool", "1"), says("assistant", "b")};
  const std::string turn = "{{ 'call;' if m.tool_calls }}";
  const std::string loop = "{% for m in messages %}" + turn;
  EXPECT_THAT(answers(loop + "{% if m.content is not none %}{{ m.content ~ ';' }}{% endif %}"
                             "{% endfor %}",
                      talk)
                  .texts,
              ElementsAre("call;", "b;"));
  EXPECT_THAT(answers(loop + "{{ m.content + ';' if m.content | length }}{% endfor %}", talk).texts,
              ElementsAre("call;", "b;"));
}

TEST(AnswerPlaces, ASystemTextBeforeAFirstAnswerIsNotLearned) {
  const std::string system =
      "{% for m in messages %}{% if loop.first and m.role != 'system' %}"
      "{{ '<|im_start|>system\nYou are kind.<|im_end|>\n' }}{% endif %}"
      "{{ '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}{% endfor %}";
  const std::string prompt = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}";
  const Json talk = {says("assistant", "a"), says("user", "b"), says("assistant", "c")};
  EXPECT_THAT(answers(system + prompt + "{% endif %}", talk).texts,
              ElementsAre("a<|im_end|>", "c<|im_end|>"));
  // The prompt begins a thought.
  EXPECT_THAT(answers(system + prompt + "<think>\n{% endif %}", talk).texts,
              ElementsAre("a<|im_end|>", "c<|im_end|>"));
}

// One that is rendered for each of its answers, or whose text is read for each of its messages,
// would take minutes: what users say begins alike.
TEST(AnswerPlaces, LongConversationsAreReadInLinearTime) {
  constexpr size_t kNumAnswers = 40'000;
  const std::string same(40, 'q');
  Json talk;
  for (size_t i = 0; i < kNumAnswers; ++i) {
    talk.push_back(says("user", fmt::format("{}{}", same, i).c_str()));
    talk.push_back(says("assistant", fmt::format("a{}", i).c_str()));
  }
  const std::string turn = "<{{ m.role }}>{{ m.content }}<end>";
  const std::string turns = "{% for m in messages %}" + turn + "{% endfor %}";
  const std::string blocks =
      "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}" + turn +
      "{% endgeneration %}{% else %}" + turn + "{% endif %}{% endfor %}";
  const std::string prompt = "{% if add_generation_prompt %}<assistant>{% endif %}";
  for (const std::string& source : {turns, turns + prompt, blocks}) {
    const Answers got = answers(source, talk);
    ASSERT_EQ(got.texts.size(), kNumAnswers);
    const std::string before = source.ends_with(prompt) ? "" : "<assistant>";
    EXPECT_EQ(got.texts[7], before + "a7<end>");
    EXPECT_EQ(got.texts.back(), before + "a39999<end>");
    EXPECT_EQ(got.messages[7], 15u);
    EXPECT_EQ(got.messages.back(), 2 * kNumAnswers - 1);
  }
}

TEST(AnswerPlaces, EarlierAnswersMayBeginDifferently) {
  Json talk;
  for (int i = 0; i < 20; ++i) {
    talk.push_back(says("user", "q"));
    talk.push_back(says("assistant", "A=a"));
  }
  const std::string turn =
      "{% for m in messages %}{{ 'A=' if loop.index0 == 21 else m.role[0] ~ ':' }}{{ m.content }};"
      "{% endfor %}{% if add_generation_prompt %}"
      "{{ 'A=' if messages | length == 21 else 'a:' }}{% endif %}";
  for (const std::string& text : answers(turn, talk).texts) EXPECT_EQ(text, "A=a;");
  // Behind the last question, the prompt begins a thought.
  talk.push_back(says("user", "r"));
  for (int i = 0; i < 20; ++i) talk.push_back(says("assistant", "b"));
  const std::string thinks =
      "{% for m in messages %}{{ m.role[0] ~ ':' }}"
      "{{ '<think>' if m.role == 'assistant' and loop.index0 > 40 }}{{ m.content }};"
      "{% endfor %}{% if add_generation_prompt %}a:<think>{% endif %}";
  const Answers got = answers(thinks, talk);
  ASSERT_EQ(got.texts.size(), 40u);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(got.texts[i], i < 20 ? "A=a;" : "b;") << i;
}

TEST(AnswerPlaces, ATemplateThatIsRenderedForEachAnswerHasALimit) {
  Json talk;
  for (int i = 0; i < 1500; ++i) {
    talk.push_back(says("user", "q"));
    talk.push_back(says("assistant", "a"));
  }
  const std::string source =
      "{% macro all() %}{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"
      "{% endmacro %}{{ all() }}";
  EXPECT_THAT(error_of<DataError>([&] { answers(source, talk); }),
              HasSubstr("got one that must be rendered for each of 3000 messages; mark them by "
                        "generation blocks, or split the conversation"));
}

TEST(AnswerPlaces, PromptIsFoundWithoutMessagesBeforeIt) {
  // Without messages the template fails.
  EXPECT_THAT(answers("{{ messages[0].role | length }}{% for m in messages %}\n{{ m.role }}: "
                      "{{ m.content }};{% endfor %}"
                      "{% if add_generation_prompt %}\nassistant: {% endif %}",
                      {says("assistant", "a"), says("user", "b"), says("assistant", "c")})
                  .texts,
              ElementsAre("a;", "c;"));
}

}  // namespace
}  // namespace axle
