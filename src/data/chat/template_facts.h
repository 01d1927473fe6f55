// What an input says of the chat templates that its conversations are rendered with.
#pragma once

#include "data/chat/chat_template.h"
#include "data/input.h"

namespace axle {

/// Adds the text of a template to the facts, and the mark that it ends answers with if the
/// tokenizer spells it: "<|im_end|>".
void add_template(InputFacts& facts, const ChatTemplate& chat, const Tokenizer& tokenizer);

}  // namespace axle
