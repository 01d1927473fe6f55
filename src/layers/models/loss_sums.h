// Sums of the losses of all tokens, with or without the logits of all tokens in memory at once.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   V vocabulary   D model dim
#pragma once

#include <functional>

#include "ir/tensor.h"

namespace axle {

/// Sums over the tokens with a label >= 0; f32 scalars.
struct LossSums {
  Tensor cross_entropy;
  Tensor squared_log_z;  // of log(sum(exp(logits)))^2
};

/// logits_BTV and labels_BT.
LossSums loss_sums(const Tensor& logits_BTV, const Tensor& labels_BT);

/// The same of head(x_BTD), computed for `chunk_len` positions at a time. The backward pass
/// computes the logits of a chunk anew, so that those of one chunk are in memory at once.
LossSums chunked_loss_sums(const std::function<Tensor(const Tensor& x_BtD)>& head,
                           const Tensor& x_BTD, const Tensor& labels_BT, int64_t chunk_len);

}  // namespace axle
