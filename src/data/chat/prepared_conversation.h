// Conversations as they go into rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/chat/chat_input.h"
#include "data/chat/chat_template.h"
#include "data/chat/learned_text.h"

namespace axle {

/// A conversation as it goes into a row, or why it does not.
struct PreparedConversation {
  LearnedTokens tokens = {};
  std::string text = {};
  bool is_cut = false;
  int64_t num_left_out = 0;  // answers
  std::string reason = {};   // "": it goes into a row
  std::string message = {};  // of a refusal; else what is left out is only counted
};

/// How many are prepared together.
inline constexpr size_t kConversationsAtOnce = 512;

/// Renders, encodes and cuts conversations.
class ConversationPreparer {
 public:
  /// All must outlive this.
  ConversationPreparer(const ChatInput::Config& cfg, const Tokenizer& tokenizer,
                       const ChatTemplate& chat)
      : cfg_(cfg), tokenizer_(tokenizer), chat_(chat) {}
  PreparedConversation prepare(const Document& document) const;
  /// The same of several, on all cores.
  std::vector<PreparedConversation> prepare(std::span<const Document> documents) const;

 private:
  bool fits(const PreparedConversation& prepared) const;
  PreparedConversation of_first(const Conversation& conversation, size_t count) const;
  void fit(const Conversation& conversation, PreparedConversation& out) const;

  const ChatInput::Config& cfg_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
};

}  // namespace axle
