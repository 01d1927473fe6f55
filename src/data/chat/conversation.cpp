#include "data/chat/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/json.h"
#include "base/text/utf8.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

bool has(const JsonView& record, std::string_view name) {
  const auto field = record.find(name);
  return field && !field->json().is_null();
}

void check_content(const JsonView& content) {
  if (content.json().is_string()) return;
  if (!content.json().is_array()) content.fail("a text or a list of parts");
  for (const JsonView& part : content.elements()) {
    if (!part.json().is_object()) part.fail("a part with a type");
  }
}

// The weight of a message, if it has one: only what the assistant says may be learned.
void check_weight(const JsonView& turn, std::string_view role) {
  if (!has(turn, "weight")) return;
  const JsonView weight = turn.at("weight");
  const bool is_answer = role == "assistant";
  if (weight.json() == 0 || (is_answer && weight.json() == 1)) return;
  weight.fail(is_answer ? "0 or 1, whether the answer is learned"
                        : "0, since only what the assistant says is learned");
}

// One message without its null fields, but for the content.
Json message_of(const JsonView& message) {
  Json out = Json::object();
  bool has_more = false;
  for (const auto& [name, field] : message.members()) {
    // A call without content has a null for it, which templates ask for.
    if (field.json().is_null() && name != "content") continue;
    if (name == "content" && !field.json().is_null()) check_content(message.at(name));
    has_more = has_more || (name != "role" && name != "content");
    out[name] = field.json();
  }
  if (message.at("role").text().empty()) message.at("role").fail("a role");
  if (!has_more) check_content(message.at("content"));  // names what is missing
  check_weight(message, message.at("role").text());
  // Axolotl's word for the weight.
  if (has(message, "train")) {
    if (!message.at("train").json().is_boolean()) message.at("train").fail("true or false");
    if (!message.at("train").json().get<bool>()) out["weight"] = 0;
    out.erase("train");
  }
  return out;
}

Json list_of(const JsonView& messages) {
  Json out = Json::array();
  for (const JsonView& message : messages.elements()) out.push_back(message_of(message));
  if (out.empty()) messages.fail("at least one message");
  return out;
}

std::string role_of_share_gpt(const JsonView& from) {
  static const std::map<std::string_view, const char*> kRoles = {{"human", "user"},
                                                                 {"user", "user"},
                                                                 {"gpt", "assistant"},
                                                                 {"assistant", "assistant"},
                                                                 {"chatgpt", "assistant"},
                                                                 {"bing", "assistant"},
                                                                 {"bard", "assistant"},
                                                                 {"model", "assistant"},
                                                                 {"bot", "assistant"},
                                                                 {"system", "system"},
                                                                 {"tool", "tool"},
                                                                 {"observation", "tool"},
                                                                 {"function_response", "tool"}};
  const auto at = kRoles.find(from.text());
  if (at == kRoles.end()) from.fail("one of human, gpt, system, tool");
  return at->second;
}

Json said(std::string role, const std::string& text) {
  return {{"role", std::move(role)}, {"content", text}};
}

// One message of ShareGPT or of the other form.
Json turn_of(const JsonView& turn) {
  if (turn.find("role")) return message_of(turn);
  Json out = said(role_of_share_gpt(turn.at("from")), turn.at("value").text());
  check_weight(turn, out["role"].get<std::string>());
  if (has(turn, "weight")) out["weight"] = turn.at("weight").json();
  return out;
}

// A value, or the text of one; none for "".
std::optional<Json> value_in(const JsonView& field) {
  if (!field.json().is_string()) return field.json();
  if (field.text().empty()) return std::nullopt;
  return read_json(field.text());
}

// OpenAI's "functions" are tools of an earlier form.
void add_tools(const JsonView& record, Json& out) {
  const bool has_tools = has(record, "tools");
  if (!has_tools && !has(record, "functions")) return;
  const JsonView given = record.at(has_tools ? "tools" : "functions");
  const auto list = value_in(given);
  if (!list) return;
  if (!list->is_array()) given.fail("a list of tools");
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
  const auto variables = value_in(given);
  if (!variables) return;
  if (!variables->is_object()) given.fail("variables of the template by name");
  for (const char* name : {"messages", "tools", "add_generation_prompt"}) {
    if (variables->contains(name)) given.fail(fmt::format("variables other than '{}'", name));
  }
  if (!variables->empty()) out["chat_template_kwargs"] = *variables;
}

// The system's text beside the messages comes before them.
void add_system(const JsonView& record, Json& out) {
  if (!has(record, "system")) return;
  const JsonView system = record.at("system");
  check_content(system);
  if (system.json().empty() || system.json() == "") return;
  for (auto& [name, messages] : out.items()) {
    const Json& first = messages.front();
    if (first.at("role") == "system") {
      if (first.at("content") == system.json()) continue;
      system.fail("one text of the system, beside the messages or among them");
    }
    const Json message = {{"role", "system"}, {"content", system.json()}};
    messages.insert(messages.begin(), message);
  }
}

// Tables that can't hold lists have them as texts.
Json of_messages(const JsonView& record) {
  const JsonView messages = record.at("messages");
  if (!messages.json().is_string()) return {{"messages", list_of(messages)}};
  const Json list = read_json(messages.text());
  return {{"messages", list_of(JsonView(list))}};
}

Json of_share_gpt(const JsonView& record) {
  const JsonView turns = record.at("conversations");
  Json messages = Json::array();
  for (const JsonView& turn : turns.elements()) {
    messages.push_back(turn_of(turn));  // some files have the names of the other form
  }
  if (messages.empty()) turns.fail("at least one message");
  return {{"messages", std::move(messages)}};
}

// The first of the fields that has a text; "" if none has.
std::string text_of_first(const JsonView& record, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (has(record, name) && !record.at(name).text().empty()) return record.at(name).text();
  }
  return {};
}

// What Alpaca calls an input, Dolly calls the context.
Json question_of(const JsonView& record) {
  std::string question = record.at("instruction").text();
  if (const std::string input = text_of_first(record, {"input", "context"}); !input.empty())
    question += "\n" + input;
  return said("user", question);
}

Json of_alpaca(const JsonView& record) {
  Json messages = Json::array();
  if (has(record, "history")) {
    for (const JsonView& pair : record.at("history").elements()) {
      const std::vector<std::string> both = pair.texts();
      if (both.size() != 2) pair.fail("a question and an answer");
      messages.push_back(said("user", both[0]));
      messages.push_back(said("assistant", both[1]));
    }
  }
  messages.push_back(question_of(record));
  const char* const answer =
      has(record, "response") && !has(record, "output") ? "response" : "output";
  messages.push_back(said("assistant", record.at(answer).text()));
  return {{"messages", std::move(messages)}};
}

// What comes before the answers of a preference.
Json prompt_of(const JsonView& record) {
  for (const char* name : {"prompt", "question"}) {
    if (!has(record, name)) continue;
    const JsonView prompt = record.at(name);
    return prompt.json().is_string() ? Json::array({said("user", prompt.text())}) : list_of(prompt);
  }
  if (has(record, "messages")) return of_messages(record).at("messages");
  if (has(record, "conversations")) return of_share_gpt(record).at("messages");
  if (has(record, "instruction")) return Json::array({question_of(record)});
  return Json::array();
}

bool is_of(const Json& message, std::string_view role) { return message.at("role") == role; }

// True if the messages have the whole prompt among them.
bool holds(const Json& messages, const Json& prompt) {
  return std::search(messages.begin(), messages.end(), prompt.begin(), prompt.end()) !=
         messages.end();
}

// The conversation with one of the answers: a text, a message or messages, which may be the whole
// conversation.
Json with_answer(const JsonView& record, const Json& prompt, const char* name) {
  const JsonView answer = record.at(name);
  Json said_now = Json::array();
  if (answer.json().is_string()) {
    if (prompt.empty()) record.at("prompt");  // throws: a text alone is no conversation
    said_now.push_back(said("assistant", answer.text()));
  } else if (answer.json().is_object()) {
    said_now.push_back(turn_of(answer));
  } else {
    for (const JsonView& turn : answer.elements()) said_now.push_back(turn_of(turn));
  }
  if (said_now.empty()) answer.fail("an answer");
  const bool is_whole = !is_of(said_now.front(), "assistant") && !is_of(said_now.front(), "tool");
  if (is_whole && !prompt.empty() && !holds(said_now, prompt))
    answer.fail("an answer, or a conversation with the prompt, the same messages");
  Json out = is_whole ? Json::array() : prompt;
  out.insert(out.end(), said_now.begin(), said_now.end());
  const auto asked =
      std::ranges::find_if(out, [](const Json& one) { return !is_of(one, "system"); });
  if (asked == out.end() || is_of(*asked, "assistant"))
    answer.fail("a question before the answer ('prompt', or whole conversations)");
  return out;
}

Json of_preference(const JsonView& record) {
  const Json prompt = prompt_of(record);
  return {{"chosen", with_answer(record, prompt, "chosen")},
          {"rejected", with_answer(record, prompt, "rejected")}};
}

Json of_completion(const JsonView& record) {
  if (has(record, "label")) {
    throw JsonError(
        "expected a prompt with the completion to learn, got one with a label; keep those of the "
        "label true, without it");
  }
  return {{"messages", with_answer(record, prompt_of(record), "completion")}};
}

ChatFormat format_of(const JsonView& record) {
  if (has(record, "chosen") && has(record, "rejected")) return ChatFormat::kPreference;
  if (has(record, "messages")) return ChatFormat::kMessages;
  if (has(record, "conversations")) return ChatFormat::kShareGPT;
  if (has(record, "instruction")) return ChatFormat::kAlpaca;
  if (has(record, "prompt") && has(record, "completion")) return ChatFormat::kCompletion;
  std::string fields;
  for (const auto& [name, field] : record.members())
    fields += (fields.empty() ? "" : ", ") + printable(name, 30);
  throw JsonError(fmt::format(
      "expected a conversation with 'messages', 'conversations', 'instruction' or 'prompt' and "
      "'completion', got {}",
      fields.empty() ? "no fields" : "the fields " + printable(fields, 100)));
}

}  // namespace

Json messages_of(const Json& json, ChatFormat format) {
  const JsonView record(json);
  if (format == ChatFormat::kAuto) format = format_of(record);
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

Conversation conversation_of(std::string_view text, const char* messages) {
  const Json json = read_json(text);
  Conversation out;
  JsonView(json).at(messages);  // throws if it is not there
  try {
    for (const Json& message : json.at(messages))
      out.messages.push_back(jinja::Value::of_json(message));
    if (json.contains("tools")) out.tools = jinja::Value::of_json(json.at("tools"));
    if (json.contains("chat_template_kwargs")) {
      for (const auto& [name, value] : json.at("chat_template_kwargs").items())
        out.variables.emplace_back(name, jinja::Value::of_json(value));
    }
  } catch (const jinja::JinjaError& error) {
    throw JsonError(error.what());
  }
  return out;
}

const std::string& role_of(const jinja::Value& message) {
  return jinja::find_text_key(message.dict(), "role")->text();
}

bool is_unlearned(const jinja::Value& message) {
  const jinja::Value* const weight = jinja::find_text_key(message.dict(), "weight");
  return weight && weight->is_number() && weight->number() == 0;
}

std::string_view content_of(const jinja::Value& message) {
  const jinja::Value* const content = jinja::find_text_key(message.dict(), "content");
  return content && content->is_text() ? std::string_view(content->text()) : std::string_view();
}

jinja::Value with_content(const jinja::Value& message, jinja::Value content) {
  auto items = message.dict().items;
  std::erase_if(items, [](const auto& item) {
    return item.first.is_text() && item.first.text() == "content";
  });
  items.emplace_back("content", std::move(content));
  return jinja::Value::dict(std::move(items));
}

}  // namespace axle
