// The layouts that published files have for conversations, read into one form.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/text/text.h"

namespace axle {

/// The layouts of conversations in files.
enum class ChatFormat {
  kAuto,        // determined by the fields of each record
  kMessages,    // {"messages": [{"role": "user", "content": "..."}, ...], "tools": [...]}; the list
                // may be called conversation, dialog or dialogue
  kShareGPT,    // {"conversations": [{"from": "human", "value": "..."}, ...], "system": "..."}
  kAlpaca,      // {"instruction": "...", "input": "...", "output": "...", "system": "..."}
  kCompletion,  // {"prompt": ..., "completion": ...}: texts or lists of messages; prompt, question,
                // query or input with completion, response, answer or output
  kPreference,  // {"prompt": ..., "chosen": ..., "rejected": ...}: texts or lists of messages;
                // "messages" with a "rejected_response" to the last question, as of ms-swift;
                // OpenAI's {"input": {"messages": ...}, "preferred_output": [...],
                // "non_preferred_output": [...]}
};
constexpr auto texts_of(ChatFormat) {
  return std::to_array<EnumText<ChatFormat>>({{ChatFormat::kAuto, "auto"},
                                              {ChatFormat::kMessages, "messages"},
                                              {ChatFormat::kShareGPT, "share_gpt"},
                                              {ChatFormat::kAlpaca, "alpaca"},
                                              {ChatFormat::kCompletion, "completion"},
                                              {ChatFormat::kPreference, "preference"}});
}

/// The fields that records of conversations have: columns of a table.
inline constexpr auto kConversationFields =
    std::to_array<std::string_view>({"messages",
                                     "conversations",
                                     "conversation",
                                     "dialog",
                                     "dialogue",
                                     "tools",
                                     "system",
                                     "system_prompt",
                                     "instruction",
                                     "input",
                                     "output",
                                     "history",
                                     "prompt",
                                     "chosen",
                                     "rejected",
                                     "preferred_output",
                                     "non_preferred_output",
                                     "chosen_response",
                                     "rejected_response",
                                     "rejected_messages",
                                     "completion",
                                     "label",
                                     "question",
                                     "query",
                                     "answer",
                                     "context",
                                     "response",
                                     "functions",
                                     "chat_template_kwargs"});

/// Returns the layout that the fields of a record show; none if they are no conversation's.
std::optional<ChatFormat> chat_format_of(const nlohmann::ordered_json& record);

/// Returns {"messages": [...], "tools": [...]} of a record. A list may be the text of one. The
/// roles of ShareGPT become system, user, assistant and tool; its "function_call" is an assistant's
/// message with the call that its text holds. An element with "human" and "assistant", or with
/// "input" and "output", is a question with its answer. An Alpaca record is a question, which is
/// its instruction and, on a line of its own, its input unless that is empty, and an answer; so are
/// a record of Dolly (instruction, context, response) and a prompt with its completion; "history"
/// has earlier questions with their answers. A "system" or "system_prompt" beside the messages
/// comes before them. "functions" become tools. The variables that a template gets more stay as
/// "chat_template_kwargs". Fields that are null are left out, since templates take a null for a
/// value; but not a content, where calls have none.
///
/// A record with two answers becomes {"chosen": [...], "rejected": [...], "tools": [...]}, two
/// whole conversations. What comes before the answers is its prompt or question, a text or
/// messages, or a conversation in one of the other forms. An answer may be the whole conversation,
/// with the prompt if there is one. A text that begins with "\n\nHuman:" is the messages of a
/// conversation, as in Anthropic's HH.
///
/// A message may have a "weight", as in OpenAI's files: 0 for an answer that is not learned, or 1.
///
/// Throws JsonError for another record, for another weight, for answers to no question and for two
/// answers to one.
nlohmann::ordered_json messages_of(const nlohmann::ordered_json& record, ChatFormat format);

}  // namespace axle
