// Likelihoods of many rows of tokens: rows of like length share a batch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "evaluate/model/batch_sizes.h"
#include "evaluate/model/choice_scorer.h"

namespace axle {

/// Compiles a program for each size of batch when it is first needed. Padding changes no result.
/// Rows beside each other that have a long context in common, such as the choices of a question,
/// continue from its caches (ChoiceScorer).
class Scorer {
 public:
  using Options = ScorerOptions;
  /// The model and the runtime must outlive the scorer.
  Scorer(ScoringParts parts, Runtime& runtime, Options options);

  /// Returns a score for each row, in their order; none if `on_share` ended the work. `parameters`
  /// are those of decode_parameters(). Throws DataError for tokens that the model does not have,
  /// DeviceError, Error with kDoesNotFit.
  std::optional<std::vector<RowScore>> score(std::span<const ScoredRow> rows,
                                             const Arrays& parameters,
                                             const OnShare& on_share = {});
  /// Returns the positions that all calls together have computed, with padding.
  int64_t num_computed() const { return num_computed_ + choices_.num_computed(); }

 private:
  struct Compiled {
    Program program;
    std::unique_ptr<Executable> executable;
  };
  Compiled& compiled(const ScoringShape& shape);
  void score_batch(std::span<const ScoredRow* const> rows, const ScoringShape& shape,
                   const Arrays& parameters, std::span<RowScore> out);

  ScoringParts parts_;
  Runtime& runtime_;
  Options options_;
  std::map<ScoringShape, Compiled> compiled_;
  ChoiceScorer choices_;
  int64_t num_computed_ = 0;
};

}  // namespace axle
