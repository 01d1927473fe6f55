// Texts as the rows of tokens whose likelihoods a model computes.
//
// Source: lm-evaluation-harness 0.4, lm_eval/api/model.py and lm_eval/models/huggingface.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "data/tokenizers/tokenizer.h"

namespace axle {

/// The tokens that a model reads, and those that are scored: the ones after its last positions.
struct ScoredRow {
  std::vector<int32_t> inputs, targets;
  int64_t num_cut = 0;  // tokens at the beginning that the row has no room for
};

class RowEncoder {
 public:
  /// A row has at most `max_len` inputs. `tokenizer` must outlive it. Throws DataError if the
  /// vocabulary has neither a begin nor an end token.
  RowEncoder(const Tokenizer& tokenizer, int64_t max_len);

  /// Returns the ids of a text as its tokenizer frames it, without the frame if the text begins
  /// with the begin token itself.
  std::vector<int32_t> encode(std::string_view text) const;
  /// Returns a row without targets: the last ids of a prompt, as many as let `num_generated` fit
  /// behind them; of an empty one, the begin token. Throws ConfigError if there is room for none.
  ScoredRow prompt(std::string_view text, int64_t num_generated) const;
  /// Returns the row of a text that follows another one. White space at the end of the context
  /// counts as the continuation's, and both are encoded as one text. An empty context is the begin
  /// token. A row that is too long loses its beginning. Throws DataError if the continuation alone
  /// is too long, or has no tokens.
  ScoredRow pair(std::string_view context, std::string_view continuation) const;
  /// Returns rows that predict each token of the text once; none for an empty one. The first token
  /// follows the begin token. With a stride, a window begins that many tokens after the one before
  /// it and scores what that one has not. Without one, windows share one token.
  std::vector<ScoredRow> windows(std::string_view text, std::optional<int64_t> stride) const;

 private:
  const Tokenizer& tokenizer_;
  int64_t max_len_;
  int32_t first_;  // what stands for an empty context
  std::string first_text_;
};

}  // namespace axle
