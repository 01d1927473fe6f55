#include "layers/models/beside_frozen.h"

#include <fmt/format.h>

#include "layers/models/frozen_call.h"
#include "nn/key_sequence.h"

namespace axle {

BesideFrozen::BesideFrozen(const Part& trained, const Part& frozen, const Scope& scope)
    : Model(scope),
      trained_part_(trained.field),
      trained_(child(trained.field, trained.config, {})),
      frozen_(child(frozen.field, frozen.config, {})) {
  if (trained_->vocab_size() != frozen_->vocab_size()) {
    fail(frozen.field, fmt::format("must have the vocabulary of the {}, got {} and {} token ids",
                                   trained.field, frozen_->vocab_size(), trained_->vocab_size()));
  }
}

Tree<ParamSpec> BesideFrozen::state_specs() const {
  return with_frozen(Layer::state_specs(), *frozen_);
}

Tree<Tensor> BesideFrozen::initialize(const random::Key& key) const {
  return trained_->initialize(KeySequence(key).next());
}

Tree<StateSpec> BesideFrozen::decode_state_specs(const DecodeDims& dims) const {
  return trained_->decode_state_specs(dims);
}

ModelOutput BesideFrozen::forward(const Tree<Tensor>& batch) {
  Tree<Type> types;
  for (const auto& [name, tensor] : batch) types.emplace(name, tensor.type());
  const bool beside = is_training() || evaluates_frozen(types);
  return beside ? forward_beside(batch) : trained_(batch);
}

}  // namespace axle
