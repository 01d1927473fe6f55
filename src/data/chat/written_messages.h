// Messages in the form that a template can write, with nothing that it would drop.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "data/chat/chat_template.h"

namespace axle {

/// Messages and what a template writes for them.
struct WrittenMessages {
  std::vector<jinja::Value> messages;
  jinja::Rendering rendering;
};

/// Renders the messages with contents that the template reads. A list of parts becomes its text
/// where the template would print the list. A content that is null or not there, beside a call of a
/// tool, becomes "" where the template fails on it or prints its name.
///
/// Throws DataError as ChatTemplate::render() does, and for what the template would lose: images,
/// sounds and videos, other parts than texts where it reads none, calls of tools and lists of them
/// that change nothing in what it writes, and thoughts ("reasoning_content", "reasoning",
/// "thinking") where it would not write those of a last answer either.
WrittenMessages written_messages(const ChatTemplate& chat, std::span<const jinja::Value> messages,
                                 const jinja::Value& tools, const ChatTemplate::Options& options);

/// True if the template would write `text` with another content of message `i`, too. `text` is what
/// it writes for the messages.
bool leaves_out(const ChatTemplate& chat, std::span<const jinja::Value> messages, size_t i,
                const jinja::Value& tools, const ChatTemplate::Options& options,
                std::string_view text);

/// True if two messages have the same fields, in any order: files write both "role" first and
/// "content" first.
bool are_same(const nlohmann::ordered_json& message, const nlohmann::ordered_json& other);

/// True if a list of messages has all of `part` in it, one behind the other. Long lists with many
/// equal messages take no longer than others.
bool have_among_them(const nlohmann::ordered_json& messages, const nlohmann::ordered_json& part);

}  // namespace axle
