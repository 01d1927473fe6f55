#include "layers/blocks/layer_loop.h"

#include "nn/layer_stack.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/random/random.h"
#include "transform/control_flow/scan.h"

namespace axle {

LayerStack current_stack(const Block& layer) {
  Invocation& current = Invocation::current();
  LayerStack out{.parameters = {}, .options = current.nested_options()};
  for (const auto& [path, spec] : layer.param_specs())
    out.parameters.emplace(path, current.parameter(path));
  const std::string below = layer.path() + "/";
  std::erase_if(out.options.state, [&](const auto& s) { return !s.first.starts_with(below); });
  return out;
}

std::pair<Tensor, OutputCollection> LayerLoop::run(const Tensor& x_BTD, const MixerContext& context,
                                                   const LayerStack& stack) const {
  const InvocationOptions& outer = stack.options;
  FlatTree parameters, state, published;
  Tree<Type> newly_published;
  for (const auto& [name, value] : stack.parameters) parameters.add(name, value);
  for (const auto& [name, value] : outer.state) state.add(name, value);
  Values xs = parameters.values;
  xs.push_back(iota({num_layers}, 0, DType::kU32));

  OutputCollection collected;
  const auto run_layer = [&](const Values& carried, const Values& slices) {
    auto at = slices.begin();
    Tree<Tensor> own = parameters.slices(at);
    const Tensor index = *at;
    InvocationOptions options = outer;
    at = carried.begin() + 1;
    Tree<Tensor> stacked = state.slices(at);
    options.state.clear();
    for (const auto& [name, value] : stacked)
      options.state.emplace(name, dynamic_index_in_dim(value, index));
    for (const auto& [name, value] : published.slices(at)) {
      // The first layer must not read a value that no layer has published.
      if (outer.published.contains(name)) options.published.insert_or_assign(name, value);
    }
    options.in_loop = true;
    if (options.key)
      options.key = random::fold_in(options.key, stack.first ? *stack.first + index : index);
    Invocation inner(path, std::move(own), std::move(options));
    ScanResult out{.carry = {layer(carried[0], context)}, .ys = {}};
    collected = std::move(inner.collection());
    for (const auto& [name, value] : std::exchange(collected.state, {}))
      stacked.at(name) = dynamic_update_index_in_dim(stacked.at(name), value, index);
    for (const auto& [name, value] : stacked) out.carry.push_back(value);
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
    return scan(run_layer, carry, xs, num_layers, {.unroll = unroll, .names = names});
  };
  ScanResult result = run_layers();
  // What layers publish is a carry too, for the next layer and for those after the loop. Its names
  // are known only now: the loop is emitted again, and the first one is dead code.
  if (!newly_published.empty()) {
    for (const auto& [name, type] : newly_published) {
      const auto before = outer.published.find(name);
      published.add(
          name, before != outer.published.end() ? before->second : zeros(type.dims, type.dtype));
    }
    result = run_layers();
  }
  auto at = result.ys.cbegin();
  replace_tensors(collected, at);
  at = result.carry.cbegin() + 1;
  collected.state = state.slices(at);
  collected.published = published.slices(at);
  return {result.carry[0], std::move(collected)};
}

}  // namespace axle
