// The role Model: what a trainer trains and a generator generates from.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   V vocabulary
#pragma once

#include <array>

#include "nn/layer.h"

namespace axle {

/// What language models read of a batch.
inline constexpr std::array<std::string_view, 5> kBatchNames = {
    "input_ids", "target_labels", "input_positions", "input_segment_ids", "last_index"};

struct ModelOutput {
  /// What training minimises: a scalar, f32.
  Tensor loss;
  /// Scalars, f32, for people and evaluation.
  Tree<Tensor> metrics = {};

  template <class F>
  void each_field(F&& fn) {
    fn("loss", loss);
    fn("", metrics);  // they stand beside the loss
  }
};

/// From a batch of named tensors to the loss, with every auxiliary loss of the call in it.
///
/// A language model reads input_ids and target_labels i32[B, T] (negative labels do not count),
/// and, if given, input_positions and input_segment_ids i32[B, T].
class Model : public LayerRole<Model, ModelOutput(const Tree<Tensor>& batch)> {
 public:
  /// A model has its sizes in its own config.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"batch"};
  using LayerRole::LayerRole;
  /// logits_BTV of input_ids; target_labels are not needed.
  Tensor logits(const Tree<Tensor>& batch);
  /// logits_BV of one position of each row: that at last_index (i32[B]) of the batch, without it
  /// the last. For decoding.
  Tensor next_logits(const Tree<Tensor>& batch);
  /// Every token id is below it.
  virtual int64_t vocab_size() const = 0;
  std::vector<Method> methods() override;

 protected:
  virtual Tensor logits_forward(const Tree<Tensor>& batch) = 0;
  virtual Tensor next_logits_forward(const Tree<Tensor>& batch) = 0;
};

}  // namespace axle
