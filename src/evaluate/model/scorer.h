// Likelihoods of many rows of tokens: rows of like length share a batch, and rows with one context
// its computation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/batch.h"
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

// The programs that compute a context once and the likelihoods of what may follow it.
//
// Letters in tensor names from here on:
//   B contexts   T positions of a context   C scored tokens of a choice   V vocabulary

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

  /// True if the model can decode and its caches have an entry for every token and keep it exactly.
  bool can_decode();
  /// Scores the rows of the groups into their slots of `out`. `on_rows` is called with the number
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

/// Compiles a program for each size of batch when it is first needed. Padding changes no result.
/// Rows beside each other that have a long context in common, such as the choices of a question,
/// continue from its caches (ChoiceScorer).
class Scorer {
 public:
  using Options = ScorerOptions;
  /// The model and the runtime must outlive the scorer.
  Scorer(ScoringParts parts, Runtime& runtime, Options options);

  /// Returns a score for each row, in their order; none if `on_share` ended the work. `parameters`
  /// are as decode_parameters() returns them. Throws DataError for tokens that the model does not
  /// have, DeviceError, Error with kDoesNotFit.
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
