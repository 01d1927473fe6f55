// The loss of classifiers and language models.
#pragma once

#include "ir/tensor.h"

namespace axle {

struct CrossEntropy {
  /// -log(softmax(logits)[label]).
  Tensor loss;
  /// log(sum(exp(logits))).
  Tensor log_z;
};

/// logits f32|bf16 [..., V], labels integers [...] -> results [...], f32. Exponentials and sums are
/// f32; beside the logits only log_z is kept for the backward pass. A label outside [0, V) stands
/// for none: its loss is log_z.
CrossEntropy softmax_cross_entropy(const Tensor& logits, const Tensor& labels);

}  // namespace axle
