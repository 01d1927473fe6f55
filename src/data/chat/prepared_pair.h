// Pairs of answers as they go into rows.
#pragma once

#include <optional>
#include <string>

#include "data/chat/chat_template.h"
#include "data/chat/learned_text.h"
#include "data/source.h"

namespace axle {

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
