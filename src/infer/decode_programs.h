// Draws a token from the logits of a position.
//
// Letters in tensor names:
//   B batch   V vocabulary   K candidates
//
// Source of top_p: Holtzman et al. 2019, arXiv 1904.09751, section 3.1.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "data/batch.h"
#include "ir/tensor.h"
#include "layers/models/model.h"
#include "lower/stablehlo.h"
#include "ops/random/random.h"

namespace axle {

/// How a token is drawn: the logits are divided by the temperature, then cut to the top k, then to
/// the top p.
struct Sampling {
  /// 0: greedy, the most likely token (the first among equals).
  double temperature = 0;
  /// Only the k most likely tokens can be drawn, the first ones among equals; none: all.
  std::optional<int64_t> top_k = {};
  /// Only the smallest set of most likely tokens whose probabilities sum to at least this can be
  /// drawn; none: all.
  std::optional<double> top_p = {};

  auto operator<=>(const Sampling&) const = default;
};

/// Throws ConfigError if the temperature is below 0, between 0 and 1e-30 or not finite, if top_k is
/// below 1, or if top_p is outside (0, 1].
void check(const Sampling& sampling);

/// Traced: returns one token for each row of logits_BV, i32[B]. `key` must not be used again;
/// with temperature 0 it may be none.
Tensor sample(const Tensor& logits_BV, const random::Key& key, const Sampling& sampling);

// The two programs of decoding. Prefill processes the prompts; a decode step processes one more
// token of each row.
//
// Letters in tensor names from here on:
//   B rows   T positions of the prompts   S positions of the caches   V vocabulary

/// Stands for a token whose logits have no finite maximum: some logit is NaN or +infinity, or all
/// are -infinity.
constexpr int32_t kNonFiniteToken = -1;

/// The sizes for which a pair of programs is compiled.
struct DecodeShape {
  int64_t num_rows = 1;
  int64_t prompt_len = 16;  // T
  int64_t cache_len = 16;   // S, at least T
  /// Type of the floating-point parameters and of the caches, as in training; none: parameters as
  /// stored, caches f32. Logits are always f32.
  std::optional<DType> compute_dtype = {};
  /// No axes: one device.
  Mesh mesh = {};
  /// The streams of positions that the model was trained with; empty: none.
  StreamRule streams = {};
};

/// The longest sequence, including the prompt: positions are i32.
constexpr int64_t kMaxPositions = std::numeric_limits<int32_t>::max();

/// Returns the smallest power of two that is at least `len` and 16, but not more than `most` and
/// kMaxPositions.
int64_t length_bucket(int64_t len, std::optional<int64_t> most);

/// Returns the parameters and the state that layers kept in training ("state/<layer>/<name>"),
/// without the frozen models, in the types that they are stored in.
std::vector<ProgramValue> stored_parameters(const Model& model);

/// Returns the leading inputs of both programs: the parameters in the types that decoding computes
/// with, then that state.
std::vector<ProgramValue> decode_parameters(const Model& model, const DecodeShape& shape);

/// Returns the state that one decode step passes to the next. In the programs it follows the
/// parameters: the caches by path, "prompt_lengths" i32[B], with streams "lines" and "columns"
/// i32[B] (of the newest token), then "key" u32[2], "positions" i32[B] (the index of the newest
/// token in its row) and "tokens" i32[B] (the newest token, or kNonFiniteToken). A cache dim that
/// its mesh axes do not divide is not sharded.
std::vector<ProgramValue> decode_state(const Model& model, const DecodeShape& shape);

/// Returns the caches of that state.
std::vector<ProgramValue> decode_caches(const Model& model, const DecodeShape& shape);
/// Calls fn() while the model decodes. The parameters are in the types of decode_parameters, of
/// this `compute_dtype`. Returns its result, and the caches including the tokens of the call.
std::pair<Tensor, Tree<Tensor>> while_decoding(const Model& model, Tree<Tensor> parameters,
                                               Tree<Tensor> caches,
                                               const std::optional<DType>& compute_dtype,
                                               const std::function<Tensor()>& fn);

/// The prompt of a row is its prefix (PrefixMask).
/// (decode_parameters, key u32[2], lengths i32[B], prompts i32[B, T], padded with any tokens) ->
/// the state after the prompts, with the first token drawn.
Program prefill_program(Model& model, const DecodeShape& shape, const Sampling& sampling);
/// (decode_parameters, state) -> state, with each row's next token drawn. All of the state but the
/// tokens is donated.
Program decode_program(Model& model, const DecodeShape& shape, const Sampling& sampling);

}  // namespace axle
