// The program that computes the likelihoods of tokens.
//
// Letters in tensor names, for this file only:
//   B rows   T positions of a row   C scored positions of a row   D model dim   V vocabulary
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "data/tokenizers/tokenizer.h"
#include "layers/models/model.h"
#include "lower/stablehlo.h"
#include "transform/trace.h"

namespace axle {

/// Names the tensors, one for each value.
Tree<Tensor> named_values(const std::vector<ProgramValue>& values, const Tensor* tensors);

/// log_likelihoods f32[B] and are_greedy i32[B].
std::vector<ProgramValue> score_results(int64_t num_rows);
/// Returns these of logits_BCV, f32, and targets_BC, i32; -1 is none.
Values scored_targets(const Tensor& logits_BCV, const Tensor& targets_BC);

/// The sizes for which a program is compiled.
struct ScoringShape {
  int64_t num_rows = 1, row_len = 16, num_scored = 4;  // B, T, C
  auto operator<=>(const ScoringShape&) const = default;
};

struct ScoringParts {
  Model& model;
  std::optional<DType> compute_dtype = {};
  Mesh mesh = {};
  /// Mesh axes of the rows and of their positions.
  PartitionSpec batch_partition = {};
  /// Numbers for the position of each token; 0: none.
  int64_t num_streams = 0;
};

/// (decode_parameters, lengths i32[B], position_streams i32[B, T, n] if there are streams, starts
/// i32[B], targets i32[B, C], tokens i32[B, T]) -> (log_likelihoods f32[B], are_greedy i32[B]).
///
/// A row has `length` tokens; the rest is padding. Target c is scored at position start + c; -1 is
/// none. log_likelihoods are sums over the targets, in f32. A row is greedy if each target has the
/// largest logit of its position. The tokens before the targets are the row's prefix (PrefixMask).
/// The head computes the logits of scored positions alone.
Program scoring_program(const ScoringParts& parts, const ScoringShape& shape);

// Texts as the rows of tokens whose likelihoods a model computes.
//
// Source: lm-evaluation-harness 0.4, lm_eval/api/model.py and lm_eval/models/huggingface.py.

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
