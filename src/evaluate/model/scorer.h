// Likelihoods of many rows of tokens: rows of like length share a batch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "data/position_streams.h"
#include "evaluate/model/scoring_program.h"
#include "evaluate/model/token_rows.h"
#include "runtime/runtime.h"

namespace axle {

struct RowScore {
  /// Of all targets together, in nats.
  double log_likelihood = 0;
  /// Each target has the largest logit.
  bool is_greedy = false;
};

/// Tokens of a batch, where nobody says how many.
inline constexpr int64_t kBatchTokens = 4096;

/// Called with the share that is done. Returns false to end the work.
using OnShare = std::function<bool(double share)>;

/// Compiles a program for each size of batch when it is first needed. Padding changes no result.
class Scorer {
 public:
  struct Options {
    /// The streams of positions that the model was trained with; empty: none.
    StreamRule streams = {};
    CompileOptions compile = {};
    /// Tokens of a batch, about, and logits at the most, unless one row has more.
    int64_t batch_tokens = kBatchTokens, batch_logits = int64_t{1} << 26;
  };
  /// The model and the runtime must outlive the scorer.
  Scorer(ScoringParts parts, Runtime& runtime, Options options);

  /// Returns a score for each row, in their order; none if `on_share` ended the work. `parameters`
  /// are those of decode_parameters(). Throws DataError for tokens that the model does not have,
  /// DeviceError, Error with kDoesNotFit.
  std::optional<std::vector<RowScore>> score(std::span<const ScoredRow> rows,
                                             const Arrays& parameters,
                                             const OnShare& on_share = {});

 private:
  struct Compiled {
    Program program;
    std::unique_ptr<Executable> executable;
  };
  ScoringShape shape_for(const ScoredRow& longest, int64_t most_targets, int64_t num_rows) const;
  Compiled& compiled(const ScoringShape& shape);
  void score_batch(std::span<const ScoredRow* const> rows, const ScoringShape& shape,
                   const Arrays& parameters, std::span<RowScore> out);

  ScoringParts parts_;
  Runtime& runtime_;
  Options options_;
  std::map<ScoringShape, Compiled> compiled_;
};

}  // namespace axle
