#include "data/chat/conversation.h"

#include <nlohmann/json.hpp>

#include "base/text/json.h"

namespace axle {

using Json = nlohmann::ordered_json;

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
