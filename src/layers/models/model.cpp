#include "layers/models/model.h"

#include "config/register.h"
#include "nn/role_methods.h"

namespace axle {

Tensor Model::logits(const Tree<Tensor>& batch) {
  const Invocation::Frame frame(*this);
  return logits_forward(batch);
}

Tensor Model::next_logits(const Tree<Tensor>& batch) {
  const Invocation::Frame frame(*this);
  return next_logits_forward(batch);
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

}  // namespace axle
