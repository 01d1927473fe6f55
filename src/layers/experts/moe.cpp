#include "layers/experts/moe.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/mistakes.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/feed_forward/feed_forward.h"
#include "nn/invocation.h"
#include "nn/layer_stack.h"
#include "nn/param.h"
#include "nn/statistic.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/grad.h"
#include "transform/ragged_map.h"
#include "transform/trace.h"
#include "transform/vmap.h"

namespace axle {
namespace {

// Returns a copy of the state for each part of a batch. The gradient of the state is the largest
// one of the copies.
Tensor parts_of_gradient(const Tensor& state, int64_t num_parts) {
  const CustomVjp rule{
      .name = "parts_of_gradient",
      .forward =
          [num_parts](const Values& x) {
            const Shape& shape = x[0].shape();
            return WithResiduals{{broadcast_in_dim(x[0], prepended(num_parts, shape),
                                                   axis_range(1, std::ssize(shape) + 1))},
                                 {}};
          },
      .backward = [](const Values&, const Values& g) { return Values{reduce_max(g[0], {0})}; }};
  return custom_vjp(rule, {state})[0];
}

}  // namespace

ExpertProjections::ExpertProjections(Handle<Projection> one, int64_t num_experts)
    : one_(std::move(one)), num_experts_(num_experts) {}

Tree<ParamSpec> ExpertProjections::param_specs() const {
  Tree<ParamSpec> specs = one_->param_specs();
  for (auto& [path, spec] : specs) {
    for (DimAxes& axes : spec.mesh_axes) std::erase(axes, "expert");
    spec.shape.insert(spec.shape.begin(), num_experts_);
    spec.mesh_axes.insert(spec.mesh_axes.begin(), "expert");
    spec.fan.batch.push_back(-std::ssize(spec.shape));
  }
  return specs;
}

Tree<Tensor> ExpertProjections::initialize(const random::Key& key) const {
  std::vector<std::string> paths;
  const Values drawn = vmap(
      [&](const Values& keys) {
        paths.clear();
        Values out;
        for (const auto& [path, value] : one_->initialize(random::Key::wrap(keys[0], key.impl()))) {
          paths.push_back(path);
          out.push_back(value);
        }
        return out;
      },
      {random::split(key, num_experts_).data()});
  Tree<Tensor> out;
  for (size_t i = 0; i < paths.size(); ++i) out.emplace(paths[i], drawn[i]);
  return out;
}

ExpertProjections::StateOfCalls ExpertProjections::state_of_calls() const {
  const InvocationOptions options = Invocation::current().nested_options();
  StateOfCalls out;
  for (const auto& [path, spec] : one_->state_specs()) {
    if (!options.state.contains(path)) continue;  // whoever reads it says that it is missing
    (spec.update == StateUpdate::kGradient ? out.gradients : out.others).push_back(path);
  }
  return out;
}

TensorFunction ExpertProjections::one_call(StateOfCalls& state) const {
  Invocation& outer = Invocation::current();
  InvocationOptions options = outer.nested_options();
  options.summaries = false;
  options.segment_ids = std::nullopt;  // the tokens lie in the order of their experts
  return [this, options, root = outer.path(), &state](const Values& values) {
    InvocationOptions own = options;
    if (own.key) own.key = random::fold_in(own.key, values[1]);
    Tree<Tensor> parameters;
    auto at = values.begin() + 2;
    for (const std::string& path : state.gradients) own.state.at(path) = *at++;
    for (const auto& [path, spec] : one_->param_specs()) parameters.emplace(path, *at++);
    Invocation inner(root, std::move(parameters), std::move(own));
    Values out{one_(values[0])};
    const OutputCollection& collected = inner.collection();
    if (!collected.aux_losses.empty()) {
      throw ConfigError(fmt::format("{}: expected a projection without aux losses, got {}",
                                    one_->config_path(), collected.aux_losses.begin()->first));
    }
    for (const std::string& path : state.others) {
      const auto set = collected.state.find(path);
      if (set != collected.state.end()) state.set.insert(path);
      out.push_back(set != collected.state.end() ? set->second : options.state.at(path));
    }
    return out;
  };
}

Tensor ExpertProjections::operator()(const Tensor& x, const std::optional<Tensor>& sizes_E) const {
  Invocation& outer = Invocation::current();
  StateOfCalls state = state_of_calls();
  const Tree<ParamSpec> state_specs = one_->state_specs();
  Values arguments{x, iota({x.dim(0)}, 0, DType::kU32)}, parameters;
  const InvocationOptions options = outer.nested_options();
  for (const std::string& path : state.gradients)
    arguments.push_back(parts_of_gradient(options.state.at(path), x.dim(0)));
  for (const auto& [path, spec] : one_->param_specs()) parameters.push_back(outer.parameter(path));

  const auto is_maximum = [&](const std::string& path) {
    return state_specs.at(path).update == StateUpdate::kMaximum;
  };
  Values results;
  if (sizes_E) {
    std::vector<RowResult> kinds{RowResult::kEach};
    for (const std::string& path : state.others)
      kinds.push_back(is_maximum(path) ? RowResult::kMaximum : RowResult::kSame);
    results = ragged_map(one_call(state), arguments, parameters, *sizes_E, kinds);
  } else {
    VmapOptions axes{.out_axes = {0}};
    for (const std::string& path : state.others)
      axes.out_axes.push_back(is_maximum(path) ? std::optional<int64_t>(0) : std::nullopt);
    arguments.insert(arguments.end(), parameters.begin(), parameters.end());
    results = vmap(one_call(state), arguments, axes);
    for (size_t i = 0; i < state.others.size(); ++i) {
      if (is_maximum(state.others[i])) results[i + 1] = reduce_max(results[i + 1], {0});
    }
  }
  for (size_t i = 0; i < state.others.size(); ++i) {
    if (state.set.contains(state.others[i]))
      outer.collection().state.insert_or_assign(state.others[i], results[i + 1]);
  }
  return results[0];
}

namespace {

// Layouts of the hidden units: of blocks [E, O, G, C, H], and of sorted tokens [M, H].
const PartitionSpec kBlockAxes = {{"expert", "data", "fsdp", kReplicated, kShardAxes}};
const PartitionSpec kSortedAxes = {{kBatchAxes, kShardAxes}};

}  // namespace

MoE::MoE(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      num_experts_(*cfg.num_experts),
      hidden_dim_(width_of(cfg.hidden_dim, dims.model_dim, config_path(), "hidden_dim")),
      activation_(cfg.activation),
      dispatch_(child("dispatch", cfg.dispatch, {.num_experts = num_experts_})),
      router_(child("router", cfg.router,
                    {.model_dim = dims.model_dim,
                     .num_experts = num_experts_,
                     .num_groups = dispatch_->num_groups(),
                     .train_borders = dispatch_->train_borders()})),
      up_(child("up", cfg.up, widening(dims.model_dim, hidden_dim_)), num_experts_),
      down_(child("down", cfg.down, narrowing(hidden_dim_, dims.model_dim)), num_experts_),
      shared_(child("shared", cfg.shared, dims)),
      adaptive_(child("adaptive_load_balance", cfg.adaptive_load_balance, {})) {
  if (cfg.gate)
    gate_.emplace(child("gate", *cfg.gate, widening(dims.model_dim, hidden_dim_)), num_experts_);
  if (adaptive_ && !dispatch_->may_drop()) {
    fail("adaptive_load_balance",
         "expected none, since the dispatch drops nothing, got a layer that follows what is "
         "dropped");
  }
  if (const auto text = uncountable_text(param_specs())) fail("num_experts", *text + "; lower it");
}

Tree<ParamSpec> MoE::param_specs() const {
  Tree<ParamSpec> out = router_->param_specs();
  if (gate_) out.merge(gate_->param_specs());
  out.merge(up_.param_specs());
  out.merge(down_.param_specs());
  if (shared_) out.merge((*shared_)->param_specs());
  return out;
}

Tree<Tensor> MoE::initialize(const random::Key& key) const {
  KeySequence keys(key);
  Tree<Tensor> out = router_->initialize(keys.next());
  if (gate_) out.merge(gate_->initialize(keys.next()));
  out.merge(up_.initialize(keys.next()));
  out.merge(down_.initialize(keys.next()));
  if (shared_) out.merge((*shared_)->initialize(keys.next()));
  return out;
}

Tensor MoE::run_experts(const Tensor& x, const std::optional<Tensor>& sizes_E) const {
  const auto project = [&](const ExpertProjections& projection, const Tensor& each) {
    return projection(each, sizes_E);
  };
  return project(
      down_, hidden_units(x, activation_, gate_, up_, sizes_E ? kSortedAxes : kBlockAxes, project));
}

Experts MoE::experts() const {
  Experts out{
      .run = [this](const Tensor& x, const auto& sizes_E) { return run_experts(x, sizes_E); }};
  const auto add = [&](const ExpertProjections& projections) {
    for (const auto& [path, spec] : projections.param_specs()) out.parameters.push_back(path);
  };
  if (gate_) add(*gate_);
  add(up_);
  add(down_);
  return out;
}

void MoE::add_losses(const Routing& routing, const Dispatched& dispatched) {
  if (decoding()) return;  // nothing is dropped, and the router adds no losses
  if (dispatched.dropped_K) add_summary("dropped", mean(*dispatched.dropped_K));
  for (const auto& [loss, value] : routing.losses) {
    const bool adapts = adaptive_ && loss == "load_balance";
    add_aux_loss(loss, adapts ? value * (*adaptive_)(*dispatched.dropped_K) : value);
  }
}

void MoE::check_groups(const Tensor& x_BTD) const {
  const int64_t groups = dispatch_->num_groups();
  if (decoding() || (x_BTD.rank() == 3 && x_BTD.dim(0) * x_BTD.dim(1) % groups == 0)) return;
  throw ShapeError(
      fmt::format("{}: expected x [B, T, D] with tokens that form {} groups "
                  "(outer_batch * num_groups), got {}",
                  join_config_path(config_path(), "dispatch"), groups, to_text(x_BTD.type())));
}

Tensor MoE::forward(const Tensor& x_BTD, const MixerContext& context) {
  check_groups(x_BTD);
  // Padding is a row of zeros, which adds nothing to what experts see, and nothing comes back.
  const Tensor real_BTD = without_padding(x_BTD);
  Routing routing = router_(real_BTD);
  routing.weights_BTK = without_padding(routing.weights_BTK);
  const Dispatched dispatched = dispatch_->run(real_BTD, routing, experts());
  add_losses(routing, dispatched);
  return shared_ ? dispatched.y_BTD + (*shared_)(x_BTD, context) : dispatched.y_BTD;
}

AXLE_REGISTER(MoE)

namespace {

// Returns the dim that counts the experts.
std::optional<int64_t> expert_dim(const ParamSpec& spec) {
  const auto it = std::ranges::find(spec.mesh_axes, DimAxes("expert"));
  if (it == spec.mesh_axes.end()) return std::nullopt;
  return it - spec.mesh_axes.begin();
}

// Returns the type of the dense parameter that is copied for each expert.
std::optional<Type> type_of_one(const ParamSpec& spec) {
  const auto dim = expert_dim(spec);
  if (!dim) return std::nullopt;
  return Type{spec.type().dtype, without_dims(spec.shape, {*dim})};
}

HostTensor copies(const HostTensor& one, const ParamSpec& spec) {
  const auto fn = [&](const Values& x) {
    return Values{broadcast_in_dim(x[0], spec.shape,
                                   other_dims(std::ssize(spec.shape), {*expert_dim(spec)}))};
  };
  return eval(fn, {one})[0];
}

}  // namespace

Tree<HostTensor> upcycled(const Tree<HostTensor>& dense, const Tree<ParamSpec>& specs,
                          int64_t seed) {
  Mistakes mistakes;
  Tree<HostTensor> out;
  bool has_copies = false;
  for (const auto& [path, spec] : specs) {
    const auto it = dense.find(path);
    if (it == dense.end()) {
      out.emplace(path, draw_parameter(path, spec, seed));
    } else if (it->second.type() == spec.type()) {
      out.emplace(path, it->second);
    } else if (const auto one = type_of_one(spec); one && it->second.type() == *one) {
      out.emplace(path, copies(it->second, spec));
      has_copies = true;
    } else {
      mistakes.add(fmt::format("{}: expected {}{} to start from, got {}", path,
                               to_text(spec.type()), one ? " or " + to_text(*one) : "",
                               to_text(it->second.type())));
    }
  }
  for (const auto& [path, value] : dense) {
    if (specs.contains(path)) continue;
    mistakes.add(fmt::format("{}: expected a parameter of the model, got one that it lacks", path));
  }
  mistakes.throw_any();
  if (!has_copies) {
    throw ConfigError(
        "--upcycle: expected a model with experts in place of feed-forward layers of the dense "
        "one, "
        "got none; leave --upcycle out, or change the recipe");
  }
  return out;
}

}  // namespace axle
