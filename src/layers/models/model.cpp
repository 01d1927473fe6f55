#include "layers/models/model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/models/causal_lm.h"
#include "nn/layer_role.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {

Tensor Model::logits(const Tree<Tensor>& batch) {
  const Invocation::Frame frame(*this);
  return logits_forward(batch);
}

Tensor Model::next_logits(const Tree<Tensor>& batch) {
  const Invocation::Frame frame(*this);
  return next_logits_forward(batch);
}

Tensor Model::cross_entropy(const Tree<Tensor>& batch) {
  const Invocation::Frame frame(*this);
  return cross_entropy_forward(batch);
}

Tensor Model::cross_entropy_forward(const Tree<Tensor>& batch) {
  return softmax_cross_entropy(logits_forward(batch), batch_tensor(batch, "target_labels", *this))
      .loss;
}

ModelOutput Model::with_token_loss(const Tree<Tensor>& batch, const TokenLoss& further) {
  const Invocation::Frame frame(*this);
  return forward_with(batch, further);
}

Tensor Model::hidden(const Tree<Tensor>& batch) {
  const Invocation::Frame frame(*this);
  return hidden_forward(batch);
}

Tensor Model::logits_of(const Tensor& x_BTD) {
  const Invocation::Frame frame(*this);
  return head_forward(x_BTD);
}

ModelOutput Model::forward_with(const Tree<Tensor>&, const TokenLoss& further) {
  throw ConfigError(
      fmt::format("{}: expected a model that takes the loss '{}' of each token, got "
                  "one without forward_with",
                  config_path(), further.name));
}

Tensor Model::hidden_forward(const Tree<Tensor>& batch) { return logits_forward(batch); }

Tensor Model::head_forward(const Tensor& x_BTD) { return x_BTD; }

void Model::check_result(const ModelOutput& out, const Tree<Tensor>&) const {
  // A model in f64 has a loss in f64.
  const bool is_wide = out.loss && out.loss.dtype() == DType::kF64;
  expect_result(out.loss, {is_wide ? DType::kF64 : DType::kF32, {}}, "loss");
}

Tree<ParamSpec> inference_state_specs(const Model& model) {
  Tree<ParamSpec> out = model.state_specs();
  for (const Model* frozen : model.frozen_models()) {
    const std::string below = frozen->path() + "/";
    std::erase_if(out, [&](const auto& state) { return state.first.starts_with(below); });
  }
  return out;
}

std::vector<Method> Model::methods() {
  std::vector<Method> all = LayerRole::methods();
  using Batch = const Tree<Tensor>&;
  all.push_back(
      method<Tensor, Batch>("logits", kInputs, [this](Batch batch) { return logits(batch); }));
  all.push_back(method<Tensor, Batch>("next_logits", kInputs,
                                      [this](Batch batch) { return next_logits(batch); }));
  return all;
}

const RoleMethods model_methods(typeid(Model),
                                {{"logits", Model::kInputs}, {"next_logits", Model::kInputs}});

AXLE_REGISTER(Model::Dims)

template class LayerRole<Model, Model::Signature>;

Child<Model> default_model() { return CausalLM::Config{}; }

namespace {

std::optional<Tensor> find(const Tree<Tensor>& batch, const std::string& name) {
  const auto it = batch.find(name);
  return it == batch.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

Tensor batch_tensor(const Tree<Tensor>& batch, const std::string& name, const Layer& model) {
  if (const auto found = find(batch, name)) return *found;
  throw ConfigError(fmt::format("{}: the batch must hold {}, got none",
                                model.path().empty() ? "the model" : model.path(), name));
}

MixerContext context_of(const Tree<Tensor>& batch) {
  Invocation& call = Invocation::current();
  call.set_segment_ids(find(batch, "input_segment_ids"));
  if (const auto streams_BTN = find(batch, kPositionStreams)) {
    if (streams_BTN->rank() != 3) {
      throw ShapeError(fmt::format("{}: expected [B, T, number of streams], got {}",
                                   kPositionStreams, to_text(streams_BTN->type())));
    }
    call.collection().published.insert_or_assign(kPositionStreams, move_axis(*streams_BTN, 2, 0));
  }
  return {.positions = find(batch, "input_positions"),
          .segment_ids = find(batch, "input_segment_ids"),
          .last_index = find(batch, "last_index"),
          .prefix_lengths = find(batch, "prefix_lengths")};
}

}  // namespace axle
