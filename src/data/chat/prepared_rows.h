// Conversations and pairs of answers as they go into rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/chat/chat_input.h"
#include "data/chat/chat_template.h"
#include "data/chat/learned_text.h"
#include "data/source.h"

namespace axle {

/// A conversation as it goes into a row, or why it does not.
struct PreparedConversation {
  LearnedTokens tokens = {};
  std::string text = {};
  Remarks remarks = {};
  std::string reason = {};   // "": it goes into a row
  std::string message = {};  // of a refusal; else what is left out is only counted
};

/// How many are prepared together.
inline constexpr size_t kConversationsAtOnce = 512;

/// Renders, encodes and cuts conversations.
class ConversationPreparer {
 public:
  struct Options {
    Learned learned = Learned::kAssistant;
    LongConversations too_long = LongConversations::kCut;
    std::optional<int64_t> seq_len = {};  // positions of a row; none: all conversations fit
  };
  /// The tokenizer and the template must outlive this.
  ConversationPreparer(const Options& options, const Tokenizer& tokenizer, const ChatTemplate& chat)
      : options_(options), tokenizer_(tokenizer), chat_(chat) {}
  PreparedConversation prepare(const Document& document) const;
  /// The same of several, on all cores.
  std::vector<PreparedConversation> prepare(std::span<const Document> documents) const;

 private:
  bool fits(const PreparedConversation& prepared) const;
  PreparedConversation of_first(const Conversation& conversation, size_t count) const;
  void fit(const Conversation& conversation, PreparedConversation& out) const;

  Options options_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
};

/// Both answers of a pair, each with its conversation, or why they do not go into a row.
struct PreparedPair {
  LearnedTokens chosen = {}, rejected = {};
  std::string chosen_text = {}, rejected_text = {};
  Remarks remarks = {};      // of both
  std::string reason = {};   // "": they go into a row
  std::string message = {};  // of a refusal; else what is left out is only counted
};

/// Renders and encodes pairs.
class PairPreparer {
 public:
  /// `seq_len` is that of a row; none: all pairs fit. The tokenizer and the template must outlive
  /// this.
  PairPreparer(std::optional<int64_t> seq_len, const Tokenizer& tokenizer, const ChatTemplate& chat)
      : seq_len_(seq_len), tokenizer_(tokenizer), chat_(chat) {}
  PreparedPair prepare(const Document& document) const;

 private:
  PreparedPair read(const Document& document) const;
  LearnedTokens answer_of(const Conversation& conversation, size_t num_shared, std::string& text,
                          Remarks& remarks) const;

  std::optional<int64_t> seq_len_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
};

}  // namespace axle
