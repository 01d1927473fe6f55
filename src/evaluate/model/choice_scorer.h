// Likelihoods of rows that have a context in common, such as the choices of a question.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/model/batch_sizes.h"
#include "evaluate/model/choice_programs.h"
#include "evaluate/model/token_rows.h"

namespace axle {

/// Rows by their numbers.
struct SharedContexts {
  /// Rows with the same context, which is longer than what follows it.
  std::vector<std::vector<size_t>> groups;
  std::vector<size_t> alone;
};
/// Finds the rows beside each other that have the same tokens before their targets.
SharedContexts shared_contexts(std::span<const ScoredRow> rows);

/// Computes each context once, into the caches of the decoder, and each choice from them.
class ChoiceScorer {
 public:
  /// `parts.model` and `runtime` must outlive it.
  ChoiceScorer(ScoringParts parts, Runtime& runtime, ScorerOptions options);

  /// True if the model can decode, and its caches have a place for every token and keep it exactly.
  bool can_decode();
  /// Scores the rows of the groups into their places of `out`. `on_rows` is called with the number
  /// of rows of each batch; the result is false if it ended the work. Throws as Scorer::score().
  bool score(std::span<const ScoredRow> rows, std::vector<std::vector<size_t>> groups,
             const Arrays& parameters, std::span<RowScore> out,
             const std::function<bool(size_t)>& on_rows);
  int64_t num_computed() const { return num_computed_; }

 private:
  struct Compiled {
    Program context, choice;
    std::unique_ptr<Executable> context_executable, choice_executable;
  };
  using Groups = std::span<const std::vector<size_t>>;
  Compiled& compiled(const ChoiceShape& shape);
  void score_batch(std::span<const ScoredRow> rows, Groups groups, const ChoiceShape& shape,
                   const Arrays& parameters, std::span<RowScore> out);

  ScoringParts parts_;
  Runtime& runtime_;
  ScorerOptions options_;
  std::optional<bool> can_decode_;
  std::map<ChoiceShape, Compiled> compiled_;
  int64_t num_computed_ = 0;
};

}  // namespace axle
