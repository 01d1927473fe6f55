#include "layers/blocks/repeat.h"

#include <fmt/format.h>

#include "config/register.h"
#include "nn/layer_stack.h"
#include "ops/create.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/random/random.h"
#include "transform/control_flow/scan.h"

namespace axle {
Repeat::Repeat(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      num_layers_(cfg.num_layers),
      unroll_(cfg.unroll),
      layer_(child("layer", cfg.layer, dims)) {
  for (const auto& [path, spec] : param_specs()) {
    if (!is_countable(spec.shape))
      fail("num_layers", fmt::format("{} {}; lower it", path, too_large_text(spec.type())));
  }
}

Tree<ParamSpec> Repeat::param_specs() const { return stacked(layer_->param_specs(), num_layers_); }
Tree<ParamSpec> Repeat::state_specs() const { return stacked(layer_->state_specs(), num_layers_); }

Tree<StateSpec> Repeat::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> specs = layer_->decode_state_specs(dims);
  for (auto& [path, spec] : specs) {
    spec.type.dims.insert(spec.type.dims.begin(), num_layers_);
    spec.mesh_axes.dims.insert(spec.mesh_axes.dims.begin(), kReplicated);
  }
  return specs;
}

Tree<Tensor> Repeat::initialize(const random::Key& key) const {
  return initialize_stacked(*layer_, key, num_layers_);
}

Tensor Repeat::forward(const Tensor& x_BTD, const MixerContext& context) {
  Invocation& outer = Invocation::current();
  const InvocationOptions outer_options = outer.nested_options();
  FlatTree parameters, state, published;
  Tree<Type> newly_published;
  for (const auto& [path, spec] : layer_->param_specs())
    parameters.add(path, outer.parameter(path));
  const std::string below = layer_->path() + "/";
  for (const auto& [path, value] : outer_options.state) {
    if (path.starts_with(below)) state.add(path, value);
  }
  Values xs = parameters.values;
  xs.push_back(iota({num_layers_}, 0, DType::kU32));

  OutputCollection collected;
  const auto run_layer = [&](const Values& carried, const Values& slices) {
    auto at = slices.begin();
    Tree<Tensor> own = parameters.slices(at);
    const Tensor index = *at;
    InvocationOptions options = outer_options;
    at = carried.begin() + 1;
    Tree<Tensor> stacked = state.slices(at);
    options.state.clear();
    for (const auto& [path, value] : stacked)
      options.state.emplace(path, dynamic_index_in_dim(value, index));
    for (const auto& [name, value] : published.slices(at)) {
      // The first layer must not read a value that no layer has published.
      if (outer_options.published.contains(name)) options.published.insert_or_assign(name, value);
    }
    options.in_loop = true;
    if (options.key) options.key = random::fold_in(options.key, index);
    Invocation inner(outer.path(), std::move(own), std::move(options));
    ScanResult out{.carry = {layer_(carried[0], context)}, .ys = {}};
    collected = std::move(inner.collection());
    for (const auto& [path, value] : std::exchange(collected.state, {}))
      stacked.at(path) = dynamic_update_index_in_dim(stacked.at(path), value, index);
    for (const auto& [path, value] : stacked) out.carry.push_back(value);
    const Tree<Tensor> news = std::exchange(collected.published, {});
    if (published.paths.empty()) {
      for (const auto& [name, value] : news) newly_published.emplace(name, value.type());
    }
    for (const std::string& name : published.paths) out.carry.push_back(news.at(name));
    out.ys = tensors_of(collected);
    return out;
  };
  // The state of all layers is one carry, updated in place. A cache that is passed as xs and
  // returned as ys of the scan would be copied in every call.
  const auto run_layers = [&] {
    Values carry{x_BTD};
    std::vector<std::string> names{"x"};
    for (const FlatTree* tree : {&state, &published}) {
      carry.insert(carry.end(), tree->values.begin(), tree->values.end());
      names.insert(names.end(), tree->paths.begin(), tree->paths.end());
    }
    return scan(run_layer, carry, xs, num_layers_, {.unroll = unroll_, .names = names});
  };
  ScanResult result = run_layers();
  // What layers publish is a carry too, for the next layer and for those after the loop. Its names
  // are known only now: the loop is emitted again, and the first one is dead code.
  if (!newly_published.empty()) {
    for (const auto& [name, type] : newly_published) {
      const auto before = outer_options.published.find(name);
      published.add(name, before != outer_options.published.end() ? before->second
                                                                  : zeros(type.dims, type.dtype));
    }
    result = run_layers();
  }
  auto at = result.ys.cbegin();
  replace_tensors(collected, at);
  at = result.carry.cbegin() + 1;
  collected.state = state.slices(at);
  collected.published = published.slices(at);
  outer.merge(std::move(collected));
  return result.carry[0];
}

AXLE_REGISTER(Repeat)

}  // namespace axle
