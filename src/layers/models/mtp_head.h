// The role MtpHead: predicts a token further ahead than the next one, in training.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim
#pragma once

#include "layers/blocks/mixer.h"

namespace axle {

/// What the head for the k-th token after the next one reads. Position i of a row knows the tokens
/// up to i + k.
struct MtpInputs {
  /// The input of the model's LM head.
  Tensor trunk_BTD;
  /// The result of head k - 1; for k = 1 the trunk.
  Tensor previous_BTD;
  /// The embedded token i + k at position i; zeros after the end of its segment.
  Tensor tokens_BTD;

  template <class F>
  void each_field(F&& fn) {
    fn("trunk", trunk_BTD);
    fn("previous", previous_BTD);
    fn("tokens", tokens_BTD);
  }
  static MtpInputs read(InputReader& inputs, const std::string& prefix);
};

/// inputs -> h_BTD, from which a norm and the LM head of the model predict token i + k + 1. Dtype
/// of the trunk.
class MtpHead
    : public LayerRole<MtpHead, Tensor(const MtpInputs& inputs, const MixerContext& context)> {
 public:
  using Dims = MixerDims;
  static constexpr InputNames kInputs = {"inputs", "context"};
  using LayerRole::LayerRole;

 protected:
  friend LayerRole;
  static PartitionSpec activation() { return kTokenAxes; }
  void check_result(const Tensor& h_BTD, const MtpInputs& inputs, const MixerContext&) const {
    expect_result(h_BTD, inputs.trunk_BTD.type());
  }
};

}  // namespace axle
