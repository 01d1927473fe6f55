#include "data/chat/chat_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text/json.h"

namespace axle {
namespace {

std::string of(std::string_view record, ChatFormat format = ChatFormat::kAuto) {
  try {
    return messages_of(read_json(record), format).dump();
  } catch (const JsonError& error) {
    return error.what();
  }
}

TEST(ChatLayout, AllFormsBecomeTheSameMessages) {
  const std::string expected =
      R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"Q"},)"
      R"({"role":"assistant","content":"A"}]})";
  EXPECT_EQ(of(expected), expected);
  EXPECT_EQ(of(R"({"id":7,"conversations":[{"from":"system","value":"S"},)"
               R"({"from":"human","value":"Q"},{"from":"gpt","value":"A"}]})"),
            expected);
  EXPECT_EQ(of(R"({"system":"S","conversations":[{"from":"user","value":"Q"},)"
               R"({"from":"assistant","value":"A"}]})"),
            expected);
  EXPECT_EQ(of(R"({"conversations":[{"role":"system","content":"S"},)"
               R"({"role":"user","content":"Q"},{"role":"assistant","content":"A"}]})"),
            expected);
  EXPECT_EQ(of(R"({"instruction":"Q","input":"","output":"A","system":"S"})"), expected);
  EXPECT_EQ(of(R"({"instruction":"Add.","input":"1 2","output":"3","history":[["a","b"]]})"),
            R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
            R"({"role":"user","content":"Add.\n1 2"},{"role":"assistant","content":"3"}]})");
  EXPECT_EQ(of(R"({"prompt":[{"role":"system","content":"S"},{"role":"user","content":"Q"}],)"
               R"("completion":[{"role":"assistant","content":"A"}]})"),
            expected);
  EXPECT_EQ(of(R"({"prompt":"Q","completion":"A"})"),
            R"({"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":"A"}]})");
}

TEST(ChatLayout, SystemPromptsToolsAndContextAreKept) {
  const std::string question = R"({"role":"user","content":"Q"})";
  EXPECT_EQ(of(R"({"system":"S","messages":[)" + question + "]}"),
            R"({"messages":[{"role":"system","content":"S"},)" + question + "]}");
  EXPECT_EQ(of(R"({"system":"S","prompt":"Q","completion":"A"})"),
            R"({"messages":[{"role":"system","content":"S"},)" + question +
                R"(,{"role":"assistant","content":"A"}]})");
  EXPECT_EQ(of(R"({"system":"S","messages":[{"role":"system","content":"S"},)" + question + "]}"),
            R"({"messages":[{"role":"system","content":"S"},)" + question + "]}");
  EXPECT_EQ(
      of(R"({"system":"S","messages":[{"role":"system","content":"T"},)" + question + "]}"),
      "system: expected one text of the system, beside the messages or among them, got \"S\"");
  EXPECT_EQ(of(R"({"system":"","messages":[)" + question + "]}"),
            R"({"messages":[)" + question + "]}");
  EXPECT_EQ(of(R"({"functions":[{"name":"f"}],"messages":[)" + question + "]}"),
            R"({"messages":[)" + question +
                R"(],"tools":[{"type":"function","function":{"name":"f"}}]})");
  const std::string with_variables =
      of(R"({"chat_template_kwargs":{"think":false},"messages":[)" + question + "]}");
  EXPECT_EQ(with_variables,
            R"({"messages":[)" + question + R"(],"chat_template_kwargs":{"think":false}})");
  EXPECT_THAT(of(R"({"chat_template_kwargs":{"tools":[]},"messages":[)" + question + "]}"),
              ::testing::HasSubstr("expected variables other than 'tools'"));
  EXPECT_EQ(of(R"({"instruction":"I","context":"C","response":"A","category":"c"})"),
            R"({"messages":[{"role":"user","content":"I\nC"},)"
            R"({"role":"assistant","content":"A"}]})");
}

// The names of published data sets.
TEST(ChatLayout, AlternativeFieldNamesAreEquivalent) {
  const std::string expected =
      R"({"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":"A"}]})";
  for (const std::string list : {"messages", "conversation", "dialog", "dialogue"}) {
    EXPECT_EQ(of("{\"" + list +
                 R"(":[{"role":"user","content":"Q"},)"
                 R"({"role":"assistant","content":"A"}]})"),
              expected);
    EXPECT_EQ(of("{\"" + list + R"(":[{"human":"Q","assistant":"A"}]})"), expected);
    EXPECT_EQ(of("{\"" + list + R"(":[{"from":"human","value":"Q"},{"from":"gpt","value":"A"}]})"),
              expected);
  }
  for (const std::string question : {"prompt", "question", "query", "input"}) {
    for (const std::string answer : {"completion", "response", "answer", "output"}) {
      EXPECT_EQ(of("{\"" + question + "\":\"Q\",\"" + answer + "\":\"A\"}"), expected);
    }
  }
  EXPECT_EQ(of(R"({"id":1,"system_prompt":"","question":"Q","response":"A"})"), expected);
  EXPECT_EQ(
      of(R"({"context":"C","question":"Q","answer":"A"})"),
      R"({"messages":[{"role":"user","content":"Q\nC"},{"role":"assistant","content":"A"}]})");
  EXPECT_EQ(of(R"({"system_prompt":"S","question":"Q","response":"A"})"),
            R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"Q"},)"
            R"({"role":"assistant","content":"A"}]})");
}

TEST(ChatLayout, CallsOfShareGptAreCallsOfTools) {
  const std::string head = R"({"conversations":[{"from":"human","value":"Q"},)";
  const std::string call = R"({"name":"f","arguments":{"a":1}})";
  const std::string expected =
      R"({"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":null,)"
      R"("tool_calls":[{"type":"function","function":)" +
      call + R"(}]},{"role":"tool","content":"1"}]})";
  const std::string value = R"({"from":"function_call","value":)";
  const std::string result = R"(},{"from":"observation","value":"1"}]})";
  EXPECT_EQ(of(head + value + R"("{\"name\":\"f\",\"arguments\":{\"a\":1}}")" + result), expected);
  EXPECT_EQ(of(head + value + R"("[{\"name\":\"f\",\"arguments\":{\"a\":1}}]")" + result),
            expected);
  for (const std::string wrong : {"f(1)", "", "[]", "{}"}) {
    EXPECT_THAT(of(head + value + "\"" + wrong + "\"" + result),
                ::testing::HasSubstr("conversations[1].value: expected a call as JSON"));
  }
}

// As Anthropic's HH has them, and OpenAI's files of preferences.
TEST(ChatLayout, PairsOfOtherForms) {
  const std::string expected =
      R"({"chosen":[{"role":"user","content":"Q"},{"role":"assistant","content":"A"},)"
      R"({"role":"user","content":"R?"},{"role":"assistant","content":"B"}],)"
      R"("rejected":[{"role":"user","content":"Q"},{"role":"assistant","content":"A"},)"
      R"({"role":"user","content":"R?"},{"role":"assistant","content":"C"}]})";
  const std::string talk = R"(\n\nHuman: Q\n\nAssistant: A\n\nHuman: R?\n\nAssistant:)";
  EXPECT_EQ(of(R"({"chosen":")" + talk + R"( B","rejected":")" + talk + R"( C"})"), expected);
  EXPECT_EQ(of(R"({"prompt":")" + talk + R"(","chosen":"B","rejected":"C"})"), expected);
  const std::string q = R"({"role":"user","content":"Q"})";
  const auto answer = [](const std::string& text) {
    return R"([{"role":"assistant","content":")" + text + R"("}])";
  };
  const std::string pair = R"({"chosen":[)" + q + R"(,{"role":"assistant","content":"A"}],)" +
                           R"("rejected":[)" + q + R"(,{"role":"assistant","content":"B"}])";
  const std::string tools = R"("tools":[{"name":"f"}])";
  EXPECT_EQ(of(R"({"input":{"messages":[)" + q + "]," + tools + R"(},"preferred_output":)" +
               answer("A") + R"(,"non_preferred_output":)" + answer("B") + "}"),
            pair + "," + tools + "}");
  EXPECT_EQ(of(R"({"input":"Q","chosen":"A","rejected":"B"})"), pair + "}");
  // Blank lines in what is said begin no turn.
  EXPECT_THAT(of(R"({"prompt":"\n\nHuman: Q\n\n\nor\n\nAssistant:","completion":"A"})"),
              ::testing::HasSubstr(R"("content":"Q\n\n\nor"},{"role":"assistant")"));
}

// The layouts of published pairs: with whole conversations beside the prompt, with a question.
TEST(ChatLayout, PairsHaveTheirQuestionOnce) {
  const auto said = [](const std::string& role, const std::string& text) {
    return R"({"role":")" + role + R"(","content":")" + text + R"("})";
  };
  const std::string q = said("user", "Q"), a = said("assistant", "A"), b = said("assistant", "B");
  const std::string expected =
      R"({"chosen":[)" + q + "," + a + R"(],"rejected":[)" + q + "," + b + "]}";
  const std::string answers = R"("chosen":[)" + a + R"(],"rejected":[)" + b + "]}";
  const std::string whole =
      R"("chosen":[)" + q + "," + a + R"(],"rejected":[)" + q + "," + b + "]}";
  EXPECT_EQ(of("{" + whole), expected);
  EXPECT_EQ(of(R"({"prompt":"Q",)" + whole), expected);
  EXPECT_EQ(of(R"({"prompt":[)" + q + "]," + whole), expected);
  EXPECT_EQ(of(R"({"prompt":"Q",)" + answers), expected);
  EXPECT_EQ(of(R"({"question":"Q",)" + answers), expected);
  EXPECT_EQ(of(R"({"question":"Q","chosen":"A","rejected":"B"})"), expected);
  EXPECT_EQ(of(R"({"instruction":"Q",)" + answers), expected);
  const std::string s = said("system", "S");
  EXPECT_EQ(of(R"({"system":"S","question":"Q","chosen":"A","rejected":"B"})"),
            R"({"chosen":[)" + s + "," + q + "," + a + R"(],"rejected":[)" + s + "," + q + "," + b +
                "]}");
  EXPECT_THAT(of("{" + answers), ::testing::HasSubstr("chosen: expected a question before"));
  EXPECT_THAT(
      of(R"({"prompt":"R",)" + whole),
      ::testing::HasSubstr("chosen: expected an answer, or a conversation with the prompt"));
}

// Of an answer with a label, nobody knows what a better one is.
TEST(ChatLayout, CompletionsWithALabelAreRefused) {
  EXPECT_EQ(
      of(R"({"prompt":"Q","completion":"A","label":false})"),
      "expected a prompt with the completion to learn, got one with a label; keep those of the "
      "label true, without it");
}

TEST(ChatLayout, ToolsAndPartsAreKeptAndNullsRemoved) {
  EXPECT_EQ(of(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":1}]},)"
               R"({"role":"user","content":[{"type":"text","text":"t"}],"name":null}],)"
               R"("tools":[{"name":"f"}]})"),
            R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":1}]},)"
            R"({"role":"user","content":[{"type":"text","text":"t"}]}],"tools":[{"name":"f"}]})");
  EXPECT_EQ(of(R"({"messages":[{"role":"user","content":"q"}],"tools":[1],"input":{"tools":[2]}})"),
            R"({"messages":[{"role":"user","content":"q"}],"tools":[1]})");
  EXPECT_EQ(of(R"({"messages":[{"role":"user","content":"q"}],"input":{"tools":[2]}})"),
            R"({"messages":[{"role":"user","content":"q"}]})");
  EXPECT_EQ(of(R"({"conversations":[{"from":"human","value":"q"}],"tools":"[{\"name\":\"f\"}]"})"),
            R"({"messages":[{"role":"user","content":"q"}],"tools":[{"name":"f"}]})");
}

TEST(ChatLayout, WeightsSelectTheLearnedAnswers) {
  const auto with = [](const std::string& role, const std::string& weight) {
    return of(R"({"messages":[{"role":")" + role + R"(","content":"a","weight":)" + weight + "}]}");
  };
  EXPECT_EQ(with("assistant", "0"),
            R"({"messages":[{"role":"assistant","content":"a","weight":0}]})");
  EXPECT_EQ(with("user", "0"), R"({"messages":[{"role":"user","content":"a","weight":0}]})");
  EXPECT_EQ(of(R"({"messages":[{"role":"assistant","content":"a","train":false},)"
               R"({"role":"assistant","content":"b","train":true}]})"),
            R"({"messages":[{"role":"assistant","content":"a","weight":0},)"
            R"({"role":"assistant","content":"b"}]})");
  EXPECT_EQ(of(R"({"messages":[{"role":"assistant","content":"a","train":1}]})"),
            "messages[0].train: expected true or false, got 1");
  EXPECT_EQ(with("assistant", "null"), R"({"messages":[{"role":"assistant","content":"a"}]})");
  EXPECT_EQ(of(R"({"conversations":[{"from":"gpt","value":"a","train":false}]})"),
            R"({"messages":[{"role":"assistant","content":"a","weight":0}]})");
  EXPECT_EQ(of(R"({"conversation":[{"human":"q","assistant":"a","weight":0}]})"),
            R"({"messages":[{"role":"user","content":"q"},)"
            R"({"role":"assistant","content":"a","weight":0}]})");
  EXPECT_THAT(of(R"({"conversations":[{"from":"function_call","value":"{\"name\":\"f\"}",)"
                 R"("weight":0}]})"),
              ::testing::HasSubstr(R"("weight":0)"));
  EXPECT_EQ(of(R"({"conversations":[{"from":"gpt","value":"a","weight":0}]})"),
            R"({"messages":[{"role":"assistant","content":"a","weight":0}]})");
  EXPECT_EQ(with("assistant", "0.5"),
            "messages[0].weight: expected 0 or 1, whether the answer is learned, got 0.5");
  EXPECT_EQ(with("user", "1"),
            "messages[0].weight: expected 0, since only what the assistant says is learned, got 1");
  EXPECT_EQ(of(R"({"conversations":[{"from":"gpt","value":"a","weight":"no"}]})"),
            "conversations[0].weight: expected 0 or 1, whether the answer is learned, got \"no\"");
}

// As in ms-swift's files: the messages end with the better answer.
TEST(ChatLayout, RejectedAnswerMayFollowAConversation) {
  const std::string messages =
      R"("messages":[{"role":"user","content":"q"},{"role":"assistant","content":"y"}])";
  const std::string pair = of(R"({"prompt":"q","chosen":"y","rejected":"n"})");
  EXPECT_EQ(of("{" + messages + R"(,"rejected_response":"n"})"), pair);
  EXPECT_EQ(of("{" + messages +
               R"(,"rejected_messages":[{"role":"user","content":"q"},)"
               R"({"role":"assistant","content":"n"}]})"),
            pair);
  EXPECT_EQ(of(R"({"instruction":"q","chosen_response":"y","rejected_response":"n"})"), pair);
  EXPECT_EQ(
      of("{" + messages + R"(,"conversations":[{"from":"human","value":"r"}]})"),
      "expected one conversation, got the fields 'messages' and 'conversations'; leave one of "
      "them out");
  EXPECT_EQ(of("{" + messages + R"(,"conversation":"id-7","conversations":null})"),
            "{" + messages + "}");
}

// Templates know "user" and "assistant" alone.
TEST(ChatLayout, NamesOfSpeakersBecomeRoles) {
  const auto role = [](const char* name) {
    return read_json(of(R"({"messages":[{"role":")" + std::string(name) +
                        R"(","content":"a"}]})"))["messages"][0]["role"]
        .get<std::string>();
  };
  for (const char* name : {"User", "human", "HUMAN"}) EXPECT_EQ(role(name), "user");
  for (const char* name : {"Assistant", "bot", "gpt", "model", "AI"})
    EXPECT_EQ(role(name), "assistant");
  EXPECT_EQ(role("System"), "system");
  for (const char* name : {"tool", "developer", "observation", "ipython"})
    EXPECT_EQ(role(name), name);
}

TEST(ChatLayout, MistakesNameTheField) {
  EXPECT_EQ(of("{}"),
            "expected a conversation ('messages', 'conversations'), a question with its answer "
            "('instruction' and 'output', 'prompt' and 'completion', 'question' and 'answer') or "
            "two answers ('chosen', 'rejected'), got no fields");
  EXPECT_EQ(of(R"({"text":"a","id":1})"),
            "expected a conversation ('messages', 'conversations'), a question with its answer "
            "('instruction' and 'output', 'prompt' and 'completion', 'question' and 'answer') or "
            "two answers ('chosen', 'rejected'), got the fields text, id");
  EXPECT_EQ(of("[]"), "expected an object, got a list of 0");
  EXPECT_EQ(of(R"({"messages":[{"role":"user","content":null}]})"),
            "messages[0].content: expected a text or a list of parts, got null");
  EXPECT_EQ(of(R"({"messages":"hello"})"), "messages: expected a list of messages, got \"hello\"");
  EXPECT_EQ(of(R"({"messages":[{"role":"user","content":"a"}],"tools":"none"})"),
            "tools: expected a list of tools, got \"none\"");
  EXPECT_EQ(of(R"({"messages":[]})"), "messages: expected at least one message, got a list of 0");
  EXPECT_EQ(of(R"({"messages":[{"content":"a"}]})"),
            "messages[0]: expected the field 'role', got an object without it");
  EXPECT_EQ(of(R"({"messages":[{"role":"user"}]})"),
            "messages[0]: expected the field 'content', got an object without it");
  EXPECT_EQ(of(R"({"messages":[{"role":"assistant","contents":"a"}]})"),
            "messages[0]: expected the field 'content', got an object without it");
  EXPECT_EQ(of(R"({"messages":[{"role":"user","content":3}]})"),
            "messages[0].content: expected a text or a list of parts, got 3");
  EXPECT_EQ(of(R"({"messages":[{"role":"user","content":["a"]}]})"),
            "messages[0].content[0]: expected a part with a type, got \"a\"");
  EXPECT_EQ(of(R"({"conversations":[{"from":"narrator","value":"a"}]})"),
            "conversations[0].from: expected one of human, gpt, system, tool, "
            "observation, function_call, got \"narrator\"");
  EXPECT_EQ(of(R"({"instruction":"a"})"), "expected the field 'output', got an object without it");
  EXPECT_EQ(of(R"({"instruction":"a","output":"b"})", ChatFormat::kMessages),
            "expected the field 'messages', got an object without it");
  EXPECT_EQ(of(R"({"messages":[{"role":"user","content":"a"}],"tools":{}})"),
            "tools: expected a list of tools, got an object of 0");
}

}  // namespace
}  // namespace axle
