#include "layers/blocks/stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/register.h"
#include "nn/layer_stack.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "transform/control_flow/control_flow.h"

namespace axle {

Stacked::Stacked(const Config& cfg, const Dims& dims, const Scope& scope) : Block(scope) {
  const int64_t n = cfg.num_layers;
  if (!cfg.layers.empty() && std::ssize(cfg.layers) != n) {
    fail("layers", fmt::format("must have num_layers entries or none, got {} and num_layers = {}",
                               cfg.layers.size(), n));
  }
  if (n > kMaxUnrolled) {
    fail("num_layers",
         fmt::format("at most {} blocks can be unrolled, got {}; use Repeat", kMaxUnrolled, n));
  }
  if (cfg.layers.empty() && !cfg.layer)
    fail("layer", "expected a block, got none; set it or layers");
  // If one block cannot be built, the others of the same config cannot either.
  for (int64_t i = 0; i < n && !(cfg.layers.empty() && has_unbuilt_child()); ++i) {
    const bool is_own = !cfg.layers.empty();
    layers_.push_back(child(fmt::format("layer{}", i), is_own ? cfg.layers[i] : *cfg.layer, dims,
                            is_own ? fmt::format("layers[{}]", i) : "layer"));
  }
}

Tensor Stacked::forward(const Tensor& x_BTD, const MixerContext& context) {
  Tensor y_BTD = x_BTD;
  for (const auto& layer : layers_) y_BTD = layer(y_BTD, context);
  return y_BTD;
}

AXLE_REGISTER(Stacked)

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

Repeat::Repeat(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      num_layers_(cfg.num_layers),
      unroll_(cfg.unroll),
      layer_(child("layer", cfg.layer, dims)) {
  if (std::min(num_layers_, unroll_) > kMaxUnrolled) {
    fail("unroll", fmt::format("at most {} blocks can be unrolled, got {}", kMaxUnrolled, unroll_));
  }
  if (const auto text = uncountable_text(param_specs())) fail("num_layers", *text + "; lower it");
}

Tree<ParamSpec> Repeat::param_specs() const { return stacked(layer_->param_specs(), num_layers_); }
Tree<ParamSpec> Repeat::state_specs() const { return stacked(layer_->state_specs(), num_layers_); }

Tree<StateSpec> Repeat::decode_state_specs(const DecodeDims& dims) const {
  return stacked(layer_->decode_state_specs(dims), num_layers_);
}

Tree<Tensor> Repeat::initialize(const random::Key& key) const {
  return initialize_stacked(*layer_, key, num_layers_);
}

Tensor Repeat::forward(const Tensor& x_BTD, const MixerContext& context) {
  Invocation& outer = Invocation::current();
  const LayerLoop loop{*layer_, outer.path(), num_layers_, unroll_};
  auto [y_BTD, collected] = loop.run(x_BTD, context, current_stack(*layer_));
  outer.merge(std::move(collected));
  return y_BTD;
}

AXLE_REGISTER(Repeat)

namespace {

Child<Block> stack_of(std::vector<Child<Block>> layers) {
  const auto count = std::ssize(layers);
  return Stacked::Config{.num_layers = count, .layers = std::move(layers)};
}

}  // namespace

Pattern::Pattern(const Config& cfg, const Dims& dims, const Scope& scope) : Block(scope) {
  if (cfg.pattern.empty())
    fail("pattern", "expected the blocks of one group, got none; give at least one");
  spell("groups.layer.layers[", "pattern[");
  spell("rest.layers[", "pattern[");
  const int64_t num_layers = cfg.num_layers;
  const auto size = std::ssize(cfg.pattern);
  const int64_t num_groups = num_layers / size;
  if (num_groups > 0) {
    groups_ =
        child("groups",
              Child<Block>(Repeat::Config{
                  .num_layers = num_groups, .unroll = cfg.unroll, .layer = stack_of(cfg.pattern)}),
              dims);
  }
  // The rest has blocks of the groups, and so their mistakes.
  if (num_layers % size != 0 && !has_unbuilt_child())
    rest_ = child("rest", stack_of({cfg.pattern.begin(), cfg.pattern.begin() + num_layers % size}),
                  dims);
}

Tensor Pattern::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Tensor y_BTD = groups_ ? (*groups_)(x_BTD, context) : x_BTD;
  return rest_ ? (*rest_)(y_BTD, context) : y_BTD;
}

AXLE_REGISTER(Pattern)

}  // namespace axle
