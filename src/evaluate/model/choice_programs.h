// The programs that compute a context once and the likelihoods of what may follow it.
//
// Letters in tensor names, for this file only:
//   B contexts   T positions of a context   C scored tokens of a choice   V vocabulary
#pragma once

#include "evaluate/model/scoring_program.h"

namespace axle {

/// The sizes for which a pair of programs is compiled.
struct ChoiceShape {
  int64_t num_rows = 1, context_len = 16, num_scored = 1;  // B, T, C
  auto operator<=>(const ChoiceShape&) const = default;
  /// Tokens of a choice that the model reads: all but the last one.
  int64_t num_read() const { return num_scored - 1; }
};

/// (decode_parameters, lengths i32[B], position_streams i32[B, T, n] if there are streams, tokens
/// i32[B, T]) -> (the caches by path, context_logits f32[B, V]).
///
/// A context has `length` tokens; the rest is padding. It is the row's prefix (PrefixMask). Throws
/// ConfigError if the model can't decode.
Program context_program(const ScoringParts& parts, const ChoiceShape& shape);

/// (decode_parameters, the results of context_program(), lengths i32[B], position_streams i32[B,
/// C - 1, n] if there are streams, targets i32[B, C]) -> (log_likelihoods f32[B], are_greedy
/// i32[B]), as of scoring_program(). The targets of a row follow its context; -1 is none.
///
/// Reads the caches and leaves them as they are, so that many choices can follow one context.
Program choice_program(const ScoringParts& parts, const ChoiceShape& shape);

}  // namespace axle
