// Conversations whose tokens are in memory.
#pragma once

#include "data/chat/chat_input.h"
#include "data/chat/learned_input.h"

namespace axle {

/// The rows of a ChatInput of few conversations.
class ChatInMemory final : public LearnedInput {
 public:
  /// Throws as ChatInput does.
  ChatInMemory(const ChatInput::Config& cfg, const Dims& dims, const Scope& scope);
};

}  // namespace axle
