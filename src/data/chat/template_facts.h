// What an input says of the chat templates that its conversations are rendered with.
#pragma once

#include <string>
#include <vector>

#include "data/chat/chat_template.h"
#include "data/input.h"

namespace axle {

/// Returns the marks that a template ends answers with and that the tokenizer spells: "<|im_end|>".
std::vector<std::string> spelled_ends(const ChatTemplate& chat, const Tokenizer& tokenizer);
/// Adds the text of a template to the facts, and its spelled ends.
void add_template(InputFacts& facts, const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace axle
