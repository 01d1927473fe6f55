// The role Model: a trainer trains it, a generator generates text with it.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   V vocabulary   D model dim
#pragma once

#include <array>
#include <string>

#include "config/fields.h"
#include "ir/host_tensor.h"
#include "layers/mixer.h"
#include "layers/models/loss_sums.h"
#include "nn/layer.h"

namespace axle {

/// Names of the tensors that language models read from a batch.
inline constexpr std::array<std::string_view, 8> kBatchNames = {
    "input_ids",  "target_labels",  "input_positions",  "input_segment_ids",
    "last_index", "prefix_lengths", "position_streams", "is_pair"};

/// The metric that counts the targets of a batch. The loss and all other metrics are means over
/// these, so that the means of several batches can be joined. A model without it counts each batch
/// once.
inline constexpr std::string_view kNumTargets = "num_targets";

struct ModelOutput {
  /// The training loss: an f32 scalar.
  Tensor loss;
  /// f32 scalars for logs and evaluation.
  Tree<Tensor> metrics = {};

  template <class F>
  void each_field(F&& fn) {
    fn("loss", loss);
    fn("", metrics);  // no prefix: metrics are siblings of the loss
  }
};

/// Maps a batch of named tensors to the loss, which includes every auxiliary loss of the call.
///
/// A language model reads input_ids and target_labels i32[B, T]; negative labels do not count. It
/// also reads input_positions and input_segment_ids i32[B, T], prefix_lengths (MixerContext) and
/// position_streams i32[B, T, n], which it publishes as i32[n, B, T] (kPositionStreams), if they
/// are given.
class Model : public LayerRole<Model, ModelOutput(const Tree<Tensor>& batch)> {
 public:
  /// Empty: the config of the model holds its sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"batch"};
  using LayerRole::LayerRole;
  /// Returns logits_BTV of input_ids; target_labels are not needed.
  Tensor logits(const Tree<Tensor>& batch);
  /// Returns logits_BV of one position of each row, for decoding. The position is last_index
  /// (i32[B]) of the batch; without last_index it is the last position.
  Tensor next_logits(const Tree<Tensor>& batch);
  /// Returns the cross entropy of each of the target_labels, f32[B, T]. That of a negative label
  /// has no meaning.
  Tensor cross_entropy(const Tree<Tensor>& batch);
  /// Number of token ids: valid ids are in [0, vocab_size).
  virtual int64_t vocab_size() const = 0;
  /// The longest sequence; none: the model sets no limit.
  virtual std::optional<int64_t> max_seq_len() const { return std::nullopt; }

  /// Calls the model with a further loss of each target, which joins the objective and the metrics.
  /// Throws ConfigError if the model cannot take one.
  ModelOutput with_token_loss(const Tree<Tensor>& batch, const TokenLoss& further);
  /// Returns x_BTD, which logits_of() maps to the logits position by position. A chunk of positions
  /// may be mapped at a time.
  Tensor hidden(const Tree<Tensor>& batch);
  Tensor logits_of(const Tensor& x_BTD);
  /// The models below this one that training reads and never changes, such as a teacher. Their
  /// parameters are state of this layer (state_specs). A new run loads them from folders of their
  /// own. Evaluation, decoding and export leave them out.
  virtual std::vector<const Model*> frozen_models() const { return {}; }
  /// True if an evaluation of a batch of tensors with these names reads the frozen models all the
  /// same.
  template <class T>
  bool evaluates_frozen(const Tree<T>& batch) const {
    const std::optional<std::string> name = frozen_evaluation_name();
    return name && batch.contains(*name);
  }
  /// Paths of parameters that a frozen model reads as well: nothing may train them.
  virtual std::vector<std::string> read_by_frozen() const { return {}; }
  /// A field with a model that begins with the parameters of the model that --init-from names.
  struct StartingPart {
    std::string field;
    Child<Model> config;
  };
  /// None: the model itself begins with them.
  virtual std::vector<StartingPart> starting_parts() const { return {}; }
  /// Adds what follows from the values that a new run begins with, by their names in the training
  /// state: parameters by their paths, and state below "state/".
  virtual void complete_start(Tree<HostTensor>& /*given*/) const {}
  std::vector<Method> methods() override;

 protected:
  virtual Tensor logits_forward(const Tree<Tensor>& batch) = 0;
  virtual Tensor next_logits_forward(const Tree<Tensor>& batch) = 0;
  /// The default computes it from all logits.
  virtual Tensor cross_entropy_forward(const Tree<Tensor>& batch);
  virtual ModelOutput forward_with(const Tree<Tensor>& batch, const TokenLoss& further);
  /// The defaults: the logits themselves, and the identity.
  virtual Tensor hidden_forward(const Tree<Tensor>& batch);
  virtual Tensor head_forward(const Tensor& x_BTD);
  /// The tensor whose batches evaluates_frozen() is true for; none: it is false for all.
  virtual std::optional<std::string> frozen_evaluation_name() const { return std::nullopt; }
  friend LayerRole;
  void check_result(const ModelOutput& out, const Tree<Tensor>& batch) const;
};

/// Returns the state of layers that a call outside of training reads: state_specs() without the
/// frozen models.
Tree<ParamSpec> inference_state_specs(const Model& model);

extern template class LayerRole<Model, Model::Signature>;

/// Returns the config of a causal language model, CausalLM. A slot that starts with it takes the
/// fields of CausalLM, and its header needs no layer.
Child<Model> default_model();

/// Returns the tensor of the batch. Throws ConfigError naming the model if the batch lacks it.
Tensor batch_tensor(const Tree<Tensor>& batch, const std::string& name, const Layer& model);

/// Returns what the batch says about its tokens. The current call gets its segment ids,
/// and its streams of positions are published.
MixerContext context_of(const Tree<Tensor>& batch);

}  // namespace axle
