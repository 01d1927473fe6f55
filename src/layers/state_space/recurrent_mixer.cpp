#include "layers/state_space/recurrent_mixer.h"

namespace axle {

Tree<StateSpec> RecurrentMixer::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> out = Layer::decode_state_specs(dims);
  const StateDims s = state_dims();
  out.merge(recurrence_state_specs(path(), dims.batch_size,
                                   {s.num_groups, s.heads_per_group, s.state_dim, s.head_dim},
                                   s.group_axes));
  return out;
}

Tensor RecurrentMixer::recur(const Recurrence& recurrence, const TokenStream& tokens,
                             int64_t chunk_size) {
  std::optional<RecurrenceState> before;
  if (decoding()) before = RecurrenceState{state("state"), state("segment")};
  const RecurrenceResult result = chunked_recurrence(recurrence, tokens, chunk_size, before);
  if (decoding()) {
    set_state("state", result.state.h_BGRNP);
    set_state("segment", result.state.segment_B.value_or(state("segment")));
  }
  return result.y_BTGRP;
}

}  // namespace axle
