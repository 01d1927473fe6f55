// A linear recurrence with matrix states, computed by chunks of the sequence.
//
// Letters in tensor names, for this file only:
//   B batch         T positions         G groups of heads    R heads in a group
//   N state dim     P head dim
//
// Source: Dao & Gu 2024, arXiv 2405.21060, section 6 and listing 1.
#pragma once

#include "layers/state_space/token_stream.h"

namespace axle {

/// h_t = exp(log_decay_t) h_{t-1} + b_t x_t^T and y_t = c_t^T h_t, for each head. The heads of a
/// group share b and c. State-space models and linear attention are such recurrences.
struct Recurrence {
  Tensor log_decay_BTGR;  // at most 0
  Tensor b_BTGN, c_BTGN;
  Tensor x_BTGRP;
};

/// The state after a call, and the segment it belongs to.
struct RecurrenceState {
  Tensor h_BGRNP;
  std::optional<Tensor> segment_B = {};  // i32; none: all tokens are of one segment
};

struct RecurrenceResult {
  Tensor y_BTGRP;
  RecurrenceState state;
};

/// Computes the recurrence in chunks of `chunk_size` positions: products inside a chunk, a scan
/// from chunk to chunk. The state restarts from zeros where the segment changes; padding changes
/// nothing. `before` is the state before the first token; none: zeros. All values are f32.
RecurrenceResult chunked_recurrence(const Recurrence& recurrence, const TokenStream& tokens,
                                    int64_t chunk_size,
                                    const std::optional<RecurrenceState>& before = {});

}  // namespace axle
