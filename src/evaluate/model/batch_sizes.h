// How many rows are scored at once, and the few sizes for which programs are compiled.
#pragma once

#include <functional>
#include <optional>

#include "data/position_streams.h"
#include "evaluate/model/scoring_program.h"
#include "runtime/runtime.h"

namespace axle {

struct RowScore {
  /// Of all targets together, in nats.
  double log_likelihood = 0;
  /// Each target has the largest logit.
  bool is_greedy = false;
};

/// Called with the share that is done. Returns false to end the work.
using OnShare = std::function<bool(double share)>;

/// Tokens of a batch, where nobody says how many.
inline constexpr int64_t kBatchTokens = 4096;

struct ScorerOptions {
  /// The streams of positions that the model was trained with; empty: none.
  StreamRule streams = {};
  CompileOptions compile = {};
  /// Tokens of a batch, about, and logits at the most, unless one row has more.
  int64_t batch_tokens = kBatchTokens, batch_logits = int64_t{1} << 26;
  /// Computes a context that several rows begin with once, if the model can decode.
  bool shares_contexts = true;
};

/// Returns the length of the rows that a row of `len` tokens is padded to. There are two for each
/// power of two: few programs, and less than half of a row is padding. No row is longer than
/// `most`, the positions of the model; none: no limit.
int64_t row_bucket(int64_t len, std::optional<int64_t> most);
/// 4, 16, 64, ...: scored positions cost the head alone.
int64_t scored_bucket(int64_t count);
/// Returns the number of rows of a batch, for `num_rows` that wait: a multiple of the parts that
/// the mesh cuts a batch into.
int64_t batch_rows(const ScoringParts& parts, const ScorerOptions& options, int64_t row_len,
                   int64_t num_scored, int64_t num_rows);

}  // namespace axle
