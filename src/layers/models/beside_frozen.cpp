#include "layers/models/beside_frozen.h"

#include <fmt/format.h>

#include <algorithm>

#include "nn/key_sequence.h"
#include "nn/param_path.h"
#include "ops/annotate.h"
#include "ops/elementwise/convert.h"

namespace axle {

BesideFrozen::BesideFrozen(const Part& trained, const Part& frozen, const Scope& scope,
                           const std::vector<std::string>& own)
    : Model(scope),
      trained_part_(trained.field),
      trained_(child(trained.field, trained.config, {})),
      frozen_(child(frozen.field, frozen.config, {})) {
  if (trained_->vocab_size() != frozen_->vocab_size()) {
    fail(frozen.field, fmt::format("must have the vocabulary of the {}, got {} and {} token ids",
                                   trained.field, frozen_->vocab_size(), trained_->vocab_size()));
  }
  const Tree<ParamSpec> there = trained_->param_specs();
  const auto is_own = [&](const std::string& path) {
    return std::ranges::any_of(own, [&](const auto& one) { return matches_path(one, path); });
  };
  for (const auto& [path, spec] : frozen_->param_specs()) {
    if (is_own(path)) continue;
    const auto found = there.find(twin(path));
    if (found == there.end() || found->second.type() != spec.type()) {
      fail(frozen.field,
           fmt::format("must have the parameters that it reads from the {}, got {} {}, which is "
                       "{} there; match it with a pattern of 'own'",
                       trained.field, path, to_text(spec.type()),
                       found == there.end() ? "none" : to_text(found->second.type())));
    }
    shared_.insert(path);
  }
}

std::string BesideFrozen::twin(const std::string& path) const {
  return trained_->path() + path.substr(frozen_->path().size());
}

Tree<ParamSpec> BesideFrozen::state_specs() const {
  Tree<ParamSpec> out = Layer::state_specs();
  for (const auto& [path, spec] : frozen_->param_specs())
    if (!shared_.contains(path)) out.emplace(path, spec);
  return out;
}

std::vector<std::string> BesideFrozen::read_by_frozen() const {
  std::vector<std::string> out;
  for (const std::string& path : shared_) out.push_back(twin(path));
  return out;
}

void BesideFrozen::complete_start(Tree<HostTensor>& given) const {
  if (!shares()) return;
  const auto copy = [&](const std::string& from, const std::string& to, DType dtype) {
    const auto found = given.find(from);
    if (found != given.end() && !given.contains(to)) given.emplace(to, found->second.astype(dtype));
  };
  for (const auto& [path, spec] : frozen_->param_specs()) {
    if (!shared_.contains(path)) copy(twin(path), join_path(kLayerStatePath, path), *spec.dtype);
  }
  for (const auto& [path, spec] : frozen_->state_specs())
    copy(join_path(kLayerStatePath, twin(path)), join_path(kLayerStatePath, path), *spec.dtype);
}

Tensor BesideFrozen::call_frozen(const std::function<Tensor()>& fn) const {
  const Invocation& outer = Invocation::current();
  Tree<Tensor> parameters, state;
  for (const auto& [path, spec] : frozen_->param_specs()) {
    if (!shares()) {
      parameters.emplace(path, outer.stored_state(path));
      continue;
    }
    // What is trained and what is not are computed with in one dtype.
    const Tensor& there = outer.parameter(twin(path));
    parameters.emplace(path, shared_.contains(path)
                                 ? stop_gradient(there)
                                 : astype(outer.stored_state(path), there.dtype()));
  }
  for (const auto& [path, spec] : frozen_->state_specs())
    state.emplace(path, outer.stored_state(path));
  InvocationOptions options{.state = std::move(state),
                            .summaries = false,
                            .in_loop = outer.options().in_loop,
                            .mesh = outer.options().mesh};
  if (shares()) options.compute_dtype = outer.options().compute_dtype;
  const Invocation alone(outer.path(), std::move(parameters), std::move(options));
  return fn();
}

Tree<Tensor> BesideFrozen::initialize(const random::Key& key) const {
  return trained_->initialize(KeySequence(key).next());
}

Tree<StateSpec> BesideFrozen::decode_state_specs(const DecodeDims& dims) const {
  return trained_->decode_state_specs(dims);
}

ModelOutput BesideFrozen::forward(const Tree<Tensor>& batch) {
  const bool beside = is_training() || evaluates_frozen(batch);
  return beside ? forward_beside(batch) : trained_(batch);
}

}  // namespace axle
