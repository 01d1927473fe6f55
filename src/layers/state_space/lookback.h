// The tokens before a call.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   W positions before   C channels
#pragma once

#include "layers/state_space/token_stream.h"

namespace axle {

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

}  // namespace axle
