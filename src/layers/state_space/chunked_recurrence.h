// A linear recurrence with matrix states, computed by chunks of the sequence.
//
// Letters in tensor names:
//   B batch         T positions         G groups of heads    R heads in a group
//   N state dim     P head dim
//
// Source: Dao & Gu 2024, arXiv 2405.21060, section 6 and listing 1.
#pragma once

#include "ir/tensor.h"
#include "layers/mixer.h"

namespace axle {

// What recurrent mixers know about the tokens of a call.
//
// Letters in tensor names from here on:
//   B batch   T positions

/// Tokens of a call, for layers whose state crosses calls.
struct TokenStream {
  /// i32[B, T]: a token depends only on earlier tokens of its own segment; none: a row is one
  /// segment. Padding has the segment of the last token.
  std::optional<Tensor> segments_BT = {};
  /// pred[B, T]: false for padding after the last token of a row; none: there is no padding.
  std::optional<Tensor> live_BT = {};
  /// i32[B]: index of the last token that counts; none: it is T - 1.
  std::optional<Tensor> last_B = {};

  /// Returns the tokens of x[B, T, ..].
  static TokenStream of(const Tensor& x, const MixerContext& context);
  /// Returns x[B, T, ..] with zeros instead of padding.
  Tensor without_padding(const Tensor& x) const;
};

/// Returns the decode state of the recurrence at `path`: "state" f32[B, ..dims], with dims[0] over
/// `axes`, and "segment" i32[B], the segment of the newest token.
Tree<StateSpec> recurrence_state_specs(std::string_view path, int64_t batch_size, Shape dims,
                                       const DimAxes& axes);

// The tokens before a call.
//
// Letters in tensor names from here on:
//   B batch   T positions   W positions before   C channels

/// x, with the values of the W earlier positions in front.
struct LookedBack {
  Tensor x_BWTC;  // [B, W + T, C]; zeros before the beginning of the text
  /// i32[B, W + T]: the segments of these positions, 0 before the beginning; none: one segment.
  std::optional<Tensor> segments_BWT = {};

  template <class F>
  void each_field(F&& fn) {
    fn("x", x_BWTC);
    fn("segments", segments_BWT);
  }
};

/// x_BTC -> x with the values of the W positions before it. Decoding keeps them between calls.
///
/// Decode state: last [B, W, C] in the dtype of DecodeDims; segment i32[B, W].
class Lookback final
    : public LayerRole<Lookback, LookedBack(const Tensor& x_BTC, const MixerContext& context)> {
 public:
  /// The sizes, given by the parent layer.
  struct Dims {
    /// W, the number of positions before; 0: x is returned.
    NonNegative<int64_t> num_before;
    /// Size of the last dim of x.
    Positive<int64_t> channels;
    AXLE_CONFIG(Dims, num_before, channels)
  };
  static constexpr InputNames kInputs = {"x", "context"};
  struct Config {
    AXLE_CONFIG(Lookback)
  };
  Lookback(const Config&, const Dims& dims, const Scope& scope) : LayerRole(scope), dims_(dims) {}
  bool can_decode() const override { return true; }
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  LookedBack forward(const Tensor& x_BTC, const MixerContext& context) override;

 private:
  Dims dims_;
};

// Sequences cut into chunks of positions.
//
// Letters in tensor names from here on:
//   B batch   T positions   C chunks   Q positions of a chunk

/// Returns x[B, T, ..] as [B, C, Q, ..], with zeros after the end.
Tensor in_chunks(const Tensor& x, int64_t chunk_size);

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

// Mixers whose decode state is that of a linear recurrence.
//
// Letters in tensor names from here on:
//   B batch   G groups of heads   R heads in a group   N state dim   P head dim

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
