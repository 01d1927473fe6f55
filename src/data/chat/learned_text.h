// What of a conversation a model learns: the text of the assistant's turns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "data/chat/answer_places.h"
#include "data/chat/chat_template.h"
#include "data/source.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Which tokens of a conversation are targets.
enum class Learned {
  kAssistant,  // what the assistant says, with what ends its turns
  kAll,        // every token
};
constexpr auto texts_of(Learned) {
  return std::to_array<EnumText<Learned>>(
      {{Learned::kAssistant, "assistant"}, {Learned::kAll, "all"}});
}

/// What strftime_now() of templates writes in training, in Unix time: noon of 26 July 2024.
inline constexpr int64_t kNowOfTraining = 1721995200;

/// A rendered conversation, and the bytes of it that are learned.
struct LearnedText {
  std::string text;
  std::vector<MessagePlace> learned = {};  // in order, without overlaps
  Remarks remarks = {};
};

/// Renders the messages, as written_messages() makes them. What the assistant says is what the
/// template's generation blocks hold; if it has none, what it writes for the assistant's messages
/// (answer_places()); messages of the weight 0 are not learned, except with Learned::kAll. Throws
/// DataError as ChatTemplate::render() and written_messages() do, and for generation blocks whose
/// location in the text is not known.
LearnedText learned_text(const ChatTemplate& chat, std::span<const jinja::Value> messages,
                         const jinja::Value& tools, Learned learned,
                         const ChatTemplate::Options& options);

/// The ids of a text, and a flag for each: whether it is learned.
struct LearnedTokens {
  std::vector<int32_t> ids;
  std::vector<uint8_t> is_learned;
  bool has_learned() const;
};

/// Encodes the text as a whole, with its special tokens. A token is learned if its first byte is.
/// Where the pieces of the ids do not add up to the text, so that their offsets are not known, the
/// flags are those that the ids have where learned and other parts are encoded one by one.
LearnedTokens encode_learned(const Tokenizer& tokenizer, const LearnedText& text);

}  // namespace axle
