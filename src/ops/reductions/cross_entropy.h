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

/// logits f32|bf16 [..., V], labels integers [...] -> loss and log_z f32 [...].
///
/// Exponentials and sums are f32. The backward pass keeps only logits, labels and log_z. A label
/// outside [0, V) means "no label": its loss is log_z.
CrossEntropy softmax_cross_entropy(const Tensor& logits, const Tensor& labels);

}  // namespace axle
