// The two programs of decoding: prefill takes in the prompts, a decode step one more token of each
// row.
//
// Letters in tensor names, for this file only:
//   B rows   T positions of the prompts   S positions of the caches   V vocabulary
#pragma once

#include <vector>

#include "infer/sampling.h"
#include "layers/model.h"
#include "lower/program.h"

namespace axle {

/// The sizes that a pair of programs is compiled for.
struct DecodeShape {
  int64_t num_rows = 1;
  int64_t prompt_len = 16;  // T
  int64_t cache_len = 16;   // S, at least T
  DType cache_dtype = DType::kF32;
};

/// The smallest power of two that is at least `len` and 16, but not more than `most`.
int64_t length_bucket(int64_t len, std::optional<int64_t> most);

/// What decoding hands from one step to the next, behind the parameters: the caches by path, then
/// "key" u32[2], "positions" i32[B] (the place of the token in its row) and "tokens" i32[B], the
/// newest.
std::vector<ProgramValue> decode_state(const Model& model, const DecodeShape& shape);

/// parameters, key u32[2], lengths i32[B], prompts i32[B, T] (filled up with anything) -> the state
/// after the prompts, with the first token drawn.
Program prefill_program(Model& model, const DecodeShape& shape, const Sampling& sampling);
/// parameters, state -> state, with each row's next token drawn. All of the state but the tokens is
/// donated.
Program decode_program(Model& model, const DecodeShape& shape, const Sampling& sampling);

}  // namespace axle
