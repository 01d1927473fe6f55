#include "data/chat/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/text.h"

namespace axle {

using Json = nlohmann::ordered_json;

Conversation conversation_of(std::string_view text, const char* messages) {
  const Json json = read_json(text);
  Conversation out;
  if (!json.contains(messages)) {
    const bool is_pair = json.contains("chosen");
    throw JsonError(fmt::format(
        "expected {}, as in other records, got {}; keep pairs of answers in files of their own",
        is_pair ? "a conversation" : "a pair of answers",
        is_pair ? "a pair of answers" : "a conversation"));
  }
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

jinja::Value message_of(std::string_view role, std::string_view content) {
  return jinja::Value::dict({{"role", role}, {"content", content}});
}

const std::string& role_of(const jinja::Value& message) {
  return jinja::find_text_key(message.dict(), "role")->text();
}

bool is_unlearned(const jinja::Value& message) {
  const jinja::Value* const weight = jinja::find_text_key(message.dict(), "weight");
  return weight && weight->is_number() && weight->number() == 0;
}

namespace {

// True for none, "", white space, and for a list without anything else.
bool is_blank(const jinja::Value& value) {
  if (value.is_text()) return trim(value.text()).empty();
  if (!value.is_list()) return value.is_none();
  return std::ranges::all_of(value.list().elements, [](const jinja::Value& part) {
    if (!part.is_dict()) return is_blank(part);
    const jinja::Value* const text = jinja::find_text_key(part.dict(), "text");
    return text && is_blank(*text);
  });
}

}  // namespace

bool says_nothing(const jinja::Value& message) {
  const auto is_blank_field = [&](std::string_view name) {
    const jinja::Value* const field = jinja::find_text_key(message.dict(), name);
    return !field || is_blank(*field);
  };
  return is_blank_field("content") && std::ranges::all_of(kCallFields, is_blank_field) &&
         std::ranges::all_of(kThoughtFields, is_blank_field);
}

std::string_view content_of(const jinja::Value& message) {
  const jinja::Value* const content = jinja::find_text_key(message.dict(), "content");
  return content && content->is_text() ? std::string_view(content->text()) : std::string_view();
}

const jinja::Value* text_of_part(const jinja::Value& part) {
  const jinja::Value* const text =
      part.is_dict() ? jinja::find_text_key(part.dict(), "text") : nullptr;
  return text && text->is_text() ? text : nullptr;
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
