#include "data/chat/conversation.h"

#include <fmt/format.h>

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

// "tools" may be the text of a list.
void add_tools(const JsonView& record, Json& out) {
  if (!has(record, "tools")) return;
  const JsonView tools = record.at("tools");
  Json list = tools.json();
  if (list.is_string()) {
    if (tools.text().empty()) return;
    list = read_json(tools.text());
  }
  if (!list.is_array()) tools.fail("a list of tools");
  if (!list.empty()) out["tools"] = std::move(list);
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
  if (has(record, "system") && !record.at("system").text().empty())
    messages.push_back(said("system", record.at("system").text()));
  for (const JsonView& turn : turns.elements()) {
    messages.push_back(turn_of(turn));  // some files have the names of the other form
  }
  if (messages.empty()) turns.fail("at least one message");
  return {{"messages", std::move(messages)}};
}

Json of_alpaca(const JsonView& record) {
  Json messages = Json::array();
  if (has(record, "system") && !record.at("system").text().empty())
    messages.push_back(said("system", record.at("system").text()));
  if (has(record, "history")) {
    for (const JsonView& pair : record.at("history").elements()) {
      const std::vector<std::string> both = pair.texts();
      if (both.size() != 2) pair.fail("a question and an answer");
      messages.push_back(said("user", both[0]));
      messages.push_back(said("assistant", both[1]));
    }
  }
  std::string question = record.at("instruction").text();
  if (has(record, "input") && !record.at("input").text().empty())
    question += "\n" + record.at("input").text();
  messages.push_back(said("user", question));
  messages.push_back(said("assistant", record.at("output").text()));
  return {{"messages", std::move(messages)}};
}

// What comes before the answers of a preference.
Json prompt_of(const JsonView& record) {
  if (has(record, "prompt")) {
    const JsonView prompt = record.at("prompt");
    return prompt.json().is_string() ? Json::array({said("user", prompt.text())}) : list_of(prompt);
  }
  if (has(record, "messages")) return of_messages(record).at("messages");
  if (has(record, "conversations")) return of_share_gpt(record).at("messages");
  return Json::array();
}

// The conversation with one of the answers: a text, a message or messages.
Json with_answer(const JsonView& record, const Json& prompt, const char* name) {
  const JsonView answer = record.at(name);
  Json out = prompt;
  if (answer.json().is_string()) {
    if (prompt.empty()) record.at("prompt");  // throws: a text alone is no conversation
    out.push_back(said("assistant", answer.text()));
  } else if (answer.json().is_object()) {
    out.push_back(turn_of(answer));
  } else {
    for (const JsonView& turn : answer.elements()) out.push_back(turn_of(turn));
  }
  if (out.size() == prompt.size()) answer.fail("an answer");
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
  add_tools(record, out);
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

}  // namespace axle
