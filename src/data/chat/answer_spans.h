// Where the answers of a conversation are in its rendered text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data/chat/chat_template.h"

namespace axle {

/// What ends an answer.
struct AnswerEnd {
  std::vector<int32_t> tokens = {};
  std::vector<std::string> texts = {};
};

/// Returns what the template puts behind an answer: a special token, another that was added to the
/// vocabulary, or a text. Empty if it puts only white space there, or if the template refuses a
/// conversation of one question and one answer.
AnswerEnd answer_end(const ChatTemplate& chat, const Tokenizer& tokenizer);

/// Bytes of a rendered conversation that one message became.
struct MessageSpan {
  size_t begin = 0, end = 0;
  size_t message = 0;  // its number in the conversation
};
inline constexpr size_t kUnknownMessage = std::numeric_limits<size_t>::max();

/// A conversation and its text.
struct RenderedChat {
  const ChatTemplate& chat;
  std::span<const jinja::Value> messages;
  const jinja::Value& tools;
  const ChatTemplate::Options& options;
  const jinja::Rendering& rendering;
};

/// Returns what the template wrote for the assistant's messages, in order, without overlaps. It
/// begins behind what a generation prompt would have written, and ends with the mark that ends the
/// turn, without white space behind that mark. An answer that the template leaves out has none.
///
/// A message is what the rounds of loops over messages wrote for it. Where the template writes it
/// otherwise (in a macro with the loop, by numbers), the conversation is rendered once more with a
/// mark instead of its content: the text around the mark, and what ends the turn, locate it.
/// Of a long conversation only the first and last answers are looked at so closely, and those that
/// open otherwise. Throws DataError where that would take more than some seconds.
std::vector<MessageSpan> answer_spans(const RenderedChat& rendered);

/// Assigns the texts of generation blocks to the messages in whose rounds they are; outside of them
/// in the order of the answers, if there is one for each, else to kUnknownMessage.
std::vector<MessageSpan> generation_spans(const RenderedChat& rendered);

/// Removes the locations of answers that are not to be learned (is_unlearned). Throws DataError if
/// such a location may belong to an unknown message.
void remove_unlearned(const RenderedChat& rendered, std::vector<MessageSpan>& spans);

}  // namespace axle
