// Mixers whose decode state is that of a linear recurrence.
//
// Letters in tensor names, for this file only:
//   B batch   G groups of heads   R heads in a group   N state dim   P head dim
#pragma once

#include "layers/state_space/chunked_recurrence.h"

namespace axle {

/// A mixer with one Recurrence, which decoding continues from call to call.
///
/// Decode state: state [B, G, R, N, P] f32 and segment i32[B].
class RecurrentMixer : public Mixer {
 public:
  using Mixer::Mixer;
  bool can_decode() const final { return true; }
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const final;

 protected:
  /// The sizes of the state, without the batch.
  struct StateDims {
    int64_t num_groups, heads_per_group, state_dim, head_dim;
    /// Mesh axes that shard the groups.
    DimAxes group_axes = kShardAxes;
  };
  virtual StateDims state_dims() const = 0;
  /// Returns y_BTGRP of the recurrence (see chunked_recurrence). While decoding, it continues the
  /// state and keeps the new one.
  Tensor recur(const Recurrence& recurrence, const TokenStream& tokens, int64_t chunk_size);
};

}  // namespace axle
