// Conversations in the one form that templates take.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/jinja/value.h"

namespace axle {

/// One conversation as values of templates.
struct Conversation {
  std::vector<jinja::Value> messages;  // mappings with a "role" and mostly a "content"
  jinja::Value tools;                  // a list, or none
  /// More variables of the template.
  std::vector<std::pair<std::string, jinja::Value>> variables = {};
};

/// The fields in which messages have calls of tools, and thoughts.
inline constexpr std::array<std::string_view, 2> kCallFields = {"tool_calls", "function_call"};
inline constexpr std::array<std::string_view, 3> kThoughtFields = {"reasoning_content", "reasoning",
                                                                   "thinking"};

/// Reads what messages_of() (chat_layout.h) returned, as text. `messages` names the list. Throws
/// JsonError.
Conversation conversation_of(std::string_view json, const char* messages = "messages");
/// Returns a message with these fields.
jinja::Value message_of(std::string_view role, std::string_view content);
/// Returns the role of a message: "user".
const std::string& role_of(const jinja::Value& message);
/// True for a message of the weight 0.
bool is_unlearned(const jinja::Value& message);
/// True for a message without a text, without a call of a tool and without a thought.
bool says_nothing(const jinja::Value& message);
/// Returns the content of a message if it is a text, else "".
std::string_view content_of(const jinja::Value& message);
/// Returns the text of a part of a content; nullptr if it has none.
const jinja::Value* text_of_part(const jinja::Value& part);
/// Returns the message with another content.
jinja::Value with_content(const jinja::Value& message, jinja::Value content);

}  // namespace axle
