// What a template puts behind an answer: there a model stops.
#pragma once

#include <cstdint>
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

}  // namespace axle
