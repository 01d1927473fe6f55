#include "data/chat/chat_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "data/chat/written_messages.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// The names that published data sets have for the same things, the most telling first.
using Names = std::span<const char* const>;
constexpr auto kMessageLists =
    std::to_array({"messages", "conversation", "dialog", "dialogue", "conversations"});
constexpr auto kQuestions = std::to_array({"prompt", "question", "query", "input"});
constexpr auto kAnswers = std::to_array({"output", "completion", "response", "answer"});
constexpr auto kChosen = std::to_array({"chosen", "preferred_output", "chosen_response"});
constexpr auto kRejected =
    std::to_array({"rejected", "non_preferred_output", "rejected_response", "rejected_messages"});

bool has(const JsonView& record, std::string_view name) {
  const auto field = record.find(name);
  return field && !field->json().is_null();
}

// The first of the names that the record has a field of.
std::optional<const char*> first_of(const JsonView& record, Names names) {
  const auto at = std::ranges::find_if(names, [&](const char* name) { return has(record, name); });
  return at == names.end() ? std::nullopt : std::optional(*at);
}

void check_content(const JsonView& content) {
  if (content.json().is_string()) return;
  if (!content.json().is_array()) content.fail("a text or a list of parts");
  for (const JsonView& part : content.elements()) {
    if (!part.json().is_object()) part.fail("a part with a type");
  }
}

// Keeps the weight of a message, if it has one: only what the assistant says may be learned.
// Axolotl's word for it is "train".
void keep_weight(const JsonView& turn, Json& message) {
  if (has(turn, "weight")) {
    const JsonView weight = turn.at("weight");
    const bool is_answer = message.at("role") == "assistant";
    if (weight.json() != 0 && (!is_answer || weight.json() != 1)) {
      weight.fail(is_answer ? "0 or 1, whether the answer is learned"
                            : "0, since only what the assistant says is learned");
    }
    message["weight"] = weight.json();
  }
  message.erase("train");
  if (!has(turn, "train")) return;
  if (!turn.at("train").json().is_boolean()) turn.at("train").fail("true or false");
  if (!turn.at("train").json().get<bool>()) message["weight"] = 0;
}

// What data sets call the user, the assistant and the system; none for another speaker.
std::optional<std::string> speaker_of(std::string_view name) {
  static const std::map<std::string_view, const char*> kSpeakers = {
      {"human", "user"},          {"user", "user"},         {"gpt", "assistant"},
      {"assistant", "assistant"}, {"chatgpt", "assistant"}, {"bing", "assistant"},
      {"bard", "assistant"},      {"model", "assistant"},   {"bot", "assistant"},
      {"ai", "assistant"},        {"system", "system"}};
  const auto at = kSpeakers.find(lower_case(name));
  return at == kSpeakers.end() ? std::nullopt : std::optional<std::string>(at->second);
}

// One message without its null fields, but for the content.
Json message_of(const JsonView& message) {
  Json out = Json::object();
  for (const auto& [name, field] : message.members()) {
    // A call without content has a null for it, which templates ask for.
    if (field.json().is_null() && name != "content") continue;
    if (name == "content" && !field.json().is_null()) check_content(message.at(name));
    out[name] = field.json();
  }
  if (message.at("role").text().empty()) message.at("role").fail("a role");
  if (const auto speaker = speaker_of(message.at("role").text())) out["role"] = *speaker;
  const bool has_calls = has(message, "tool_calls") || has(message, "function_call");
  if (!has_calls) check_content(message.at("content"));  // names what is missing
  keep_weight(message, out);
  return out;
}

std::string role_of_share_gpt(const JsonView& from) {
  for (const char* tool : {"tool", "observation", "function_response"}) {
    if (from.text() == tool) return "tool";
  }
  if (const auto speaker = speaker_of(from.text())) return *speaker;
  from.fail("one of human, gpt, system, tool, observation, function_call");
}

Json said(std::string role, const std::string& text) {
  return {{"role", std::move(role)}, {"content", text}};
}

// What a text holds as JSON; none for "".
std::optional<Json> json_in(const JsonView& field, std::string_view expected) {
  if (field.text().empty()) return std::nullopt;
  try {
    return read_json(field.text());
  } catch (const JsonError&) {
    field.fail(expected);
  }
}

// A call, or several, which LLaMA-Factory has as texts.
Json calls_in(const JsonView& value) {
  constexpr const char* kExpected = R"(a call as JSON, {"name": ..., "arguments": {...}})";
  Json calls = json_in(value, kExpected).value_or(Json());
  if (!calls.is_array()) calls = Json::array({calls});
  Json out = Json::array();
  for (const Json& call : calls) {
    if (!call.is_object() || !call.contains("name")) value.fail(kExpected);
    const Json one = {{"type", "function"}, {"function", call}};
    out.push_back(one);
  }
  if (out.empty()) value.fail(kExpected);
  return out;
}

Json of_share_gpt_turn(const JsonView& turn) {
  const bool is_call = turn.at("from").json() == "function_call";
  Json out = is_call ? Json{{"role", "assistant"},
                            {"content", nullptr},
                            {"tool_calls", calls_in(turn.at("value"))}}
                     : said(role_of_share_gpt(turn.at("from")), turn.at("value").text());
  keep_weight(turn, out);
  return out;
}

// The messages of one element of a list: of ShareGPT, a question with its answer (of Firefly, of
// Capybara), or one message. Some files have the names of one form in the other.
void add_turn(const JsonView& turn, Json& out) {
  static constexpr std::array<std::array<const char*, 2>, 3> kPairs = {
      {{"human", "assistant"}, {"user", "assistant"}, {"input", "output"}}};
  if (!turn.find("role")) {
    if (turn.find("from")) {
      out.push_back(of_share_gpt_turn(turn));
      return;
    }
    for (const auto& [question, answer] : kPairs) {
      if (!turn.find(question) || !turn.find(answer)) continue;
      out.push_back(said("user", turn.at(question).text()));
      out.push_back(said("assistant", turn.at(answer).text()));
      keep_weight(turn, out.back());
      return;
    }
  }
  out.push_back(message_of(turn));
}

// Tables that can't hold lists have them as texts.
Json list_of(const JsonView& messages) {
  constexpr const char* kExpected = "a list of messages";
  if (messages.json().is_string()) {
    const Json list = json_in(messages, kExpected).value_or(Json());
    if (!list.is_array()) messages.fail(kExpected);
    return list_of(JsonView(list, messages.path()));
  }
  Json out = Json::array();
  for (const JsonView& turn : messages.elements()) add_turn(turn, out);
  if (out.empty()) messages.fail("at least one message");
  return out;
}

// A value, or the text of one; none for "".
std::optional<Json> value_in(const JsonView& field, std::string_view expected) {
  return field.json().is_string() ? json_in(field, expected) : std::optional(field.json());
}

// OpenAI's "functions" are tools of an earlier form. In its files of pairs, tools are in the input.
void add_tools(const JsonView& record, Json& out) {
  const auto input = record.find("input");
  if (has(record, "preferred_output") && input && input->json().is_object()) add_tools(*input, out);
  const bool has_tools = has(record, "tools");
  if (!has_tools && !has(record, "functions")) return;
  const JsonView given = record.at(has_tools ? "tools" : "functions");
  constexpr const char* kExpected = "a list of tools";
  const auto list = value_in(given, kExpected);
  if (!list) return;
  if (!list->is_array()) given.fail(kExpected);
  if (list->empty()) return;
  if (has_tools) {
    out["tools"] = *list;
    return;
  }
  Json tools = Json::array();
  for (const Json& function : *list) {
    const Json tool = {{"type", "function"}, {"function", function}};
    tools.push_back(tool);
  }
  out["tools"] = std::move(tools);
}

// More variables of the template, as of TRL.
void add_variables(const JsonView& record, Json& out) {
  if (!has(record, "chat_template_kwargs")) return;
  const JsonView given = record.at("chat_template_kwargs");
  constexpr const char* kExpected = "variables of the template by name";
  const auto variables = value_in(given, kExpected);
  if (!variables) return;
  if (!variables->is_object()) given.fail(kExpected);
  for (const char* name : {"messages", "tools", "add_generation_prompt"}) {
    if (variables->contains(name)) given.fail(fmt::format("variables other than '{}'", name));
  }
  if (!variables->empty()) out["chat_template_kwargs"] = *variables;
}

// The system's text beside the messages comes before them. OpenOrca calls it the system's prompt.
void add_system(const JsonView& record, Json& out) {
  const auto name = first_of(record, std::to_array({"system", "system_prompt"}));
  if (!name) return;
  const JsonView system = record.at(*name);
  check_content(system);
  if (system.json().empty() || system.json() == "") return;
  for (auto& [list, messages] : out.items()) {
    const Json& first = messages.front();
    if (first.at("role") == "system") {
      if (first.at("content") == system.json()) continue;
      system.fail("one text of the system, beside the messages or among them");
    }
    const Json message = {{"role", "system"}, {"content", system.json()}};
    messages.insert(messages.begin(), message);
  }
}

Json of_messages(const JsonView& record) {
  const auto name = first_of(record, kMessageLists);
  return {{"messages", list_of(record.at(name.value_or("messages")))}};
}

Json of_share_gpt(const JsonView& record) {
  return {{"messages", list_of(record.at("conversations"))}};
}

// A question with what it is about, on a line of its own, which Alpaca calls an input and Dolly a
// context.
Json question_of(const JsonView& record, const char* name) {
  std::string question = record.at(name).text();
  for (const char* about : {"input", "context"}) {
    if (!has(record, about)) continue;
    if (const std::string& text = record.at(about).text(); !text.empty())
      return said("user", question + "\n" + text);
  }
  return said("user", question);
}

// The same behind earlier turns, which are questions with their answers.
Json asked_in(const JsonView& record, const char* name) {
  Json out = Json::array();
  if (has(record, "history")) {
    for (const JsonView& pair : record.at("history").elements()) {
      const std::vector<std::string> both = pair.texts();
      if (both.size() != 2) pair.fail("a question and an answer");
      out.push_back(said("user", both[0]));
      out.push_back(said("assistant", both[1]));
    }
  }
  out.push_back(question_of(record, name));
  return out;
}

// The name of the field that has the answer. With two of them, nobody knows which is meant.
const char* answer_name(const JsonView& record, const char* usual) {
  const char* out = nullptr;
  for (const char* name : kAnswers) {
    if (!has(record, name) || record.at(name).json() == "") continue;
    if (out) {
      throw JsonError(fmt::format(
          "expected one answer, got the fields '{}' and '{}'; leave one of them out", out, name));
    }
    out = name;
  }
  return out ? out : first_of(record, kAnswers).value_or(usual);
}

Json of_alpaca(const JsonView& record) {
  Json messages = asked_in(record, "instruction");
  messages.push_back(said("assistant", record.at(answer_name(record, "output")).text()));
  return {{"messages", std::move(messages)}};
}

// The messages in a text as Anthropic's HH has them: each has its speaker before it, behind blank
// lines. None for another text.
std::optional<Json> spoken_in(std::string_view text) {
  constexpr std::string_view kHuman = "\n\nHuman:", kAssistant = "\n\nAssistant:";
  if (!text.starts_with(kHuman)) return std::nullopt;
  Json out = Json::array();
  const auto begins_turn = [&](size_t at) {
    return text.substr(at).starts_with(kHuman) || text.substr(at).starts_with(kAssistant);
  };
  while (!text.empty()) {
    const bool is_human = text.starts_with(kHuman);
    text.remove_prefix(is_human ? kHuman.size() : kAssistant.size());
    size_t end = text.find("\n\n");
    while (end != text.npos && !begins_turn(end)) end = text.find("\n\n", end + 1);
    end = std::min(end, text.size());
    out.push_back(said(is_human ? "user" : "assistant", std::string(trim(text.substr(0, end)))));
    text.remove_prefix(end);
  }
  return out;
}

// A text is a question, or a conversation up to the answer.
Json question_in(const JsonView& prompt) {
  if (prompt.json().is_object()) return list_of(prompt.at("messages"));  // as OpenAI has it
  if (!prompt.json().is_string()) return list_of(prompt);
  auto spoken = spoken_in(prompt.text());
  if (!spoken) return Json::array({said("user", prompt.text())});
  if (spoken->back() == said("assistant", "")) spoken->erase(spoken->size() - 1);
  return *spoken;
}

// What comes before the answers.
Json prompt_of(const JsonView& record) {
  if (const auto name = first_of(record, Names(kQuestions).first(3))) {
    const JsonView prompt = record.at(*name);
    const bool is_question = prompt.json().is_string() && !spoken_in(prompt.text());
    return is_question ? asked_in(record, *name) : question_in(prompt);
  }
  if (first_of(record, kMessageLists)) return of_messages(record).at("messages");
  if (has(record, "instruction")) return asked_in(record, "instruction");
  return has(record, "input") ? question_in(record.at("input")) : Json::array();
}

bool is_of(const Json& message, std::string_view role) { return message.at("role") == role; }

// The conversation with one of the answers: a text, a message or messages, which may be the whole
// conversation.
Json with_answer(const JsonView& record, const Json& prompt, const char* name) {
  const JsonView answer = record.at(name);
  Json said_now = Json::array();
  if (answer.json().is_string()) {
    if (auto spoken = spoken_in(answer.text())) {
      said_now = std::move(*spoken);
    } else {
      if (prompt.empty()) record.at("prompt");  // throws: a text alone is no conversation
      said_now.push_back(said("assistant", answer.text()));
    }
  } else if (answer.json().is_null()) {
    answer.fail("an answer");
  } else if (answer.json().is_object()) {
    add_turn(answer, said_now);
  } else {
    for (const JsonView& turn : answer.elements()) add_turn(turn, said_now);
  }
  if (said_now.empty()) answer.fail("an answer");
  const bool is_whole = !is_of(said_now.front(), "assistant") && !is_of(said_now.front(), "tool");
  if (is_whole && !prompt.empty() && !have_among_them(said_now, prompt))
    answer.fail("an answer, or a conversation with the prompt, the same messages");
  Json out = is_whole ? Json::array() : prompt;
  out.insert(out.end(), said_now.begin(), said_now.end());
  const auto asked =
      std::ranges::find_if(out, [](const Json& one) { return !is_of(one, "system"); });
  if (asked == out.end() || is_of(*asked, "assistant"))
    answer.fail("a question before the answer ('prompt', or whole conversations)");
  return out;
}

// The other answer to the last question of a conversation has a field of its own.
bool has_other_answer(const JsonView& record) {
  return !first_of(record, kChosen) && first_of(record, kMessageLists) &&
         (has(record, "rejected_response") || has(record, "rejected_messages"));
}

Json of_other_answer(const JsonView& record) {
  const Json chosen = of_messages(record).at("messages");
  Json prompt = chosen;
  while (!prompt.empty() && prompt.back().at("role") != "user") prompt.erase(prompt.size() - 1);
  const char* const name = *first_of(record, kRejected);
  return {{"chosen", chosen}, {"rejected", with_answer(record, prompt, name)}};
}

Json of_preference(const JsonView& record) {
  if (has_other_answer(record)) return of_other_answer(record);
  const Json prompt = prompt_of(record);
  const auto with = [&](Names names) {
    return with_answer(record, prompt, first_of(record, names).value_or(names.front()));
  };
  return {{"chosen", with(kChosen)}, {"rejected", with(kRejected)}};
}

// A question with its answer.
Json of_completion(const JsonView& record) {
  if (has(record, "label")) {
    throw JsonError(
        "expected a prompt with the completion to learn, got one with a label; keep those of the "
        "label true, without it");
  }
  const char* const answer = answer_name(record, "completion");
  return {{"messages", with_answer(record, prompt_of(record), answer)}};
}

[[noreturn]] void fail_without_format(const JsonView& record) {
  std::string fields;
  for (const auto& [name, field] : record.members())
    fields += (fields.empty() ? "" : ", ") + printable(name, 30);
  throw JsonError(fmt::format(
      "expected a conversation ('messages', 'conversations'), a question with its answer "
      "('instruction' and 'output', 'prompt' and 'completion', 'question' and 'answer') or two "
      "answers ('chosen', 'rejected'), got {}",
      fields.empty() ? "no fields" : "the fields " + printable(fields, 100)));
}

// Of two conversations in a record, nobody knows which is meant.
void check_one_list(const JsonView& record) {
  const char* first = nullptr;
  for (const char* name : kMessageLists) {
    const auto field = record.find(name);
    if (!field || !field->json().is_array()) continue;
    if (first) {
      throw JsonError(fmt::format(
          "expected one conversation, got the fields '{}' and '{}'; leave one of them out", first,
          name));
    }
    first = name;
  }
}

}  // namespace

std::optional<ChatFormat> chat_format_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const JsonView record(json);
  // One of the answers may be null, by a mistake that is then named.
  const auto is_named = [&](Names names) {
    return std::ranges::any_of(names,
                               [&](const char* name) { return record.find(name).has_value(); });
  };
  if ((first_of(record, kChosen) && is_named(kRejected)) ||
      (first_of(record, kRejected) && is_named(kChosen)) || has_other_answer(record))
    return ChatFormat::kPreference;
  if (has(record, "messages")) return ChatFormat::kMessages;
  if (has(record, "conversations")) return ChatFormat::kShareGPT;
  if (first_of(record, kMessageLists)) return ChatFormat::kMessages;
  if (has(record, "instruction")) return ChatFormat::kAlpaca;
  if (first_of(record, kQuestions) && first_of(record, kAnswers)) return ChatFormat::kCompletion;
  return std::nullopt;
}

Json messages_of(const Json& json, ChatFormat format) {
  const JsonView record(json);
  if (format == ChatFormat::kAuto) {
    const auto told = chat_format_of(json);
    if (!told) fail_without_format(record);
    format = *told;
    check_one_list(record);
  }
  Json out = format == ChatFormat::kMessages     ? of_messages(record)
             : format == ChatFormat::kShareGPT   ? of_share_gpt(record)
             : format == ChatFormat::kPreference ? of_preference(record)
             : format == ChatFormat::kCompletion ? of_completion(record)
                                                 : of_alpaca(record);
  add_system(record, out);
  add_tools(record, out);
  add_variables(record, out);
  return out;
}

}  // namespace axle
