#include "layers/pipeline/stage_loop.h"

#include <algorithm>

#include "config/register.h"
#include "nn/layer_stack.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/vmap.h"

namespace axle {

std::vector<PipelinePass> GPipe::passes(int64_t) const {
  std::vector<PipelinePass> out;
  for (int64_t m = 0; m < num_microbatches_; ++m) out.push_back({.round = 0, .microbatch = m});
  return out;
}

AXLE_REGISTER(GPipe)

std::vector<PipelinePass> Circular::passes(int64_t) const {
  std::vector<PipelinePass> out;
  for (int64_t r = 0; r < num_rounds_; ++r) {
    for (int64_t m = 0; m < num_microbatches_; ++m) out.push_back({.round = r, .microbatch = m});
  }
  return out;
}

AXLE_REGISTER(Circular)

Tensor split_rows(const Tensor& x, int64_t n, int64_t rows) {
  return move_axis(unflatten(x, rows, {x.dim(rows) / n, n}), rows + 1, 0);
}

Tensor merge_rows(const Tensor& parts, int64_t rows) {
  return flatten(move_axis(parts, 0, rows + 1), rows, rows + 1);
}

// Letters in tensor names from here on:
//   M microbatches   S stages   R rounds   L layers of a run   I iterations

namespace {

Tensor repeated(const Tensor& t, int64_t n) {
  return broadcast_in_dim(t, prepended(n, t.shape()), axis_range(1, t.rank() + 1));
}

// Moves the values of all stages, [S, ..], to the next stage; values of the last one go to the
// first. One collective-permute moves them, and one moves their gradients back.
Tensor moved_on(const Tensor& t) {
  const CustomVjp move{
      .name = "to_next_stage",
      .forward =
          [](const Values& x) {
            return WithResiduals{{roll(x[0], 1, 0)}, {}};
          },
      .backward = [](const Values&, const Values& g) { return Values{roll(g[0], -1, 0)}; }};
  return is_float(t.dtype()) ? custom_vjp(move, {t})[0] : roll(t, 1, 0);
}

// A traveller, and what the layers do with it.
struct Flow : Traveller {
  bool is_published = false;
  bool is_readable = true;  // false: no layer has published it before the pipeline
  bool changes = false;
};

// Emits one pipeline.
class StageLoop {
 public:
  StageLoop(const PipelinePlan& plan, const LayerLoop& run, const PipelineInputs& inputs)
      : plan_(plan), run_(run), inputs_(inputs) {
    for (const Traveller& t : inputs.arguments) flows_.push_back({t});
    for (const Traveller& t : inputs.published) flows_.push_back({t, true});
    flows_[0].changes = true;
    const Tree<ParamSpec> specs = run.layer.param_specs();
    for (const auto& [path, value] : inputs.layers.parameters)
      parameters_.add(path, by_stage(value, specs.at(path).mesh_axes));
    for (const auto& [path, value] : inputs.layers.options.state)
      state_.add(path,
                 by_stage(value, std::vector<DimAxes>(value.shape().size() - 1, kUnconstrained)));
  }

  PipelineOutputs emit(const RowsOf& rows_of) {
    ScanResult result = loop();
    // The names of what layers publish are known only now: the loop is emitted again, and the
    // first one is dead code.
    if (!newly_published_.empty()) {
      for (const auto& [name, type] : newly_published_) add_published(name, type, rows_of);
      result = loop();
    }
    return outputs(result);
  }

 private:
  int64_t num_stages() const { return plan_.num_stages; }

  // Returns [S, R, L, ..] of a value with a leading dim for all layers. `axes` are the axes of the
  // other dims.
  Tensor by_stage(const Tensor& t, std::vector<DimAxes> axes) const {
    const Tensor t_RSL = unflatten(t, 0, {plan_.num_rounds, num_stages(), plan_.layers_per_run});
    axes.insert(axes.begin(), {kStageAxes, kReplicated, kReplicated});
    return sharding_constraint(swap_axes(t_RSL, 0, 1), {axes});
  }
  Tensor of_all_layers(const Tensor& t_SRL) const { return flatten(swap_axes(t_SRL, 0, 1), 0, 2); }

  Tensor of_round(const Tensor& t_RL, const Tensor& round) const {
    return plan_.num_rounds == 1 ? index_in_dim(t_RL, 0, 0) : dynamic_index_in_dim(t_RL, round);
  }
  Tensor with_round(const Tensor& t_RL, const Tensor& t_L, const Tensor& round) const {
    return plan_.num_rounds == 1 ? expand_dims(t_L, 0)
                                 : dynamic_update_index_in_dim(t_RL, t_L, round);
  }

  // Lays out a value of each stage: [S, ..], or [S, M, ..] if it is queued.
  Tensor laid_out(const Flow& flow, const Tensor& t, bool queued) const {
    PartitionSpec spec{{kStageAxes}};
    if (queued) spec.dims.push_back(kReplicated);
    const size_t first = spec.dims.size();
    spec.dims.resize(t.shape().size(), kUnconstrained);
    if (flow.rows) spec.dims[first + static_cast<size_t>(*flow.rows)] = kBatchAxes;
    if (&flow == &flows_[0]) {
      for (size_t d = first; d < spec.dims.size(); ++d)
        spec.dims[d] =
            d - first < kTokenAxes.dims.size() ? kTokenAxes.dims[d - first] : kReplicated;
    }
    return sharding_constraint(t, spec);
  }

  void add_published(const std::string& name, const Type& type, const RowsOf& rows_of) {
    const auto known = std::ranges::find_if(
        flows_, [&](const Flow& flow) { return flow.is_published && flow.name == name; });
    if (known != flows_.end()) {
      known->changes = true;
      return;
    }
    flows_.push_back({{.name = name,
                       .parts = zeros(prepended(plan_.num_microbatches, type.dims), type.dtype),
                       .rows = rows_of(name, type, flows_[0].parts.dim(1))},
                      /*is_published=*/true,
                      /*is_readable=*/false,
                      /*changes=*/true});
  }

  // What each stage does in each iteration: the microbatch, the round, and whether it does anything
  // that counts. All are [I, S].
  Values work() const {
    const auto num_passes = std::ssize(plan_.passes);
    HostTensor microbatches(Type{DType::kI32, {num_passes}}), rounds = microbatches;
    for (size_t i = 0; i < plan_.passes.size(); ++i) {
      microbatches.values<int32_t>()[i] = static_cast<int32_t>(plan_.passes[i].microbatch);
      rounds.values<int32_t>()[i] = static_cast<int32_t>(plan_.passes[i].round);
    }
    const Shape shape{plan_.num_iterations(), num_stages()};
    const Tensor pass = iota(shape, 0) - iota(shape, 1);
    const Tensor inside = clamp(0, pass, num_passes - 1);
    return {take(constant(microbatches), inside), take(constant(rounds), inside),
            (pass >= 0) & (pass < num_passes)};
  }

  // Returns the index of each run among the iterations times stages: [R, S, M].
  Tensor places() const {
    HostTensor begin(Type{DType::kI32, {plan_.num_rounds, 1, plan_.num_microbatches}});
    for (size_t i = 0; i < plan_.passes.size(); ++i) {
      const PipelinePass& pass = plan_.passes[i];
      begin.values<int32_t>()[pass.round * plan_.num_microbatches + pass.microbatch] =
          static_cast<int32_t>(i);
    }
    const Tensor stage = iota({1, num_stages(), 1}, 1);
    return (constant(begin) + stage) * num_stages() + stage;
  }

  // One run of one stage: the values of the flows, parameters, state and work of this stage -> the
  // flows that change, state, and what the layers collect.
  Values run_stage(const Values& v) {
    const Values in(v.begin(), v.begin() + std::ssize(flows_));
    auto at = v.begin() + std::ssize(flows_);
    const Tree<Tensor> parameters = parameters_.slices(at), state = state_.slices(at);
    const Tensor microbatch = at[0], round = at[1], counts = at[2], stage = at[3];

    LayerStack own{.parameters = {}, .options = inputs_.layers.options};
    for (const auto& [path, value] : parameters)
      own.parameters.emplace(path, of_round(value, round));
    for (const auto& [path, value] : state)
      own.options.state.insert_or_assign(path, of_round(value, round));
    for (size_t i = 0; i < in.size(); ++i) {
      if (flows_[i].is_published && flows_[i].is_readable)
        own.options.published.insert_or_assign(flows_[i].name, in[i]);
    }
    if (own.options.key && plan_.num_microbatches > 1)
      own.options.key = random::fold_in(own.options.key, astype(microbatch, DType::kU32));
    own.first = astype((round * num_stages() + stage) * plan_.layers_per_run, DType::kU32);
    MixerContext context = inputs_.context;
    auto argument = in.begin() + 1;
    replace_tensors(context, argument);

    auto [y, collected] = run_.run(in[0], context, own);
    Values out{y};
    const Tree<Tensor> published = std::exchange(collected.published, {});
    for (size_t i = 1; i < flows_.size(); ++i) {
      if (flows_[i].changes) out.push_back(published.at(flows_[i].name));
    }
    if (out.size() == 1) {
      for (const auto& [name, value] : published) newly_published_.emplace(name, value.type());
    }
    const Tree<Tensor> next = std::exchange(collected.state, {});
    for (const auto& [path, value] : state) {
      const Tensor kept = select(counts, next.at(path), own.options.state.at(path));
      out.push_back(with_round(value, kept, round));
    }
    const Values rest = tensors_of(collected);
    out.insert(out.end(), rest.begin(), rest.end());
    collected_ = std::move(collected);
    return out;
  }

  // Carry: the values of the flows that arrive at each stage, [S, ..]; the queues of those that
  // change, [S, M, ..]; state. The first stage alone uses its queue. It holds a microbatch before
  // each of its rounds, and after the last one.
  ScanResult iteration(const Values& carry, const Values& work) {
    const auto num_flows = std::ssize(flows_);
    const Tensor enters = index_in_dim(work[0], 0, 0), leaves = index_in_dim(work[0], 0, -1),
                 leaves_counts = index_in_dim(work[2], 0, -1);
    const Tensor stage = iota({num_stages()}, 0);
    auto queue = carry.begin() + num_flows;
    Values in;
    for (const Flow& flow : flows_) {
      const Tensor& arriving = carry[in.size()];
      const Tensor queued =
          flow.changes ? dynamic_index_in_dim(*queue++, enters, 1)
                       : repeated(dynamic_index_in_dim(flow.parts, enters, 0), num_stages());
      const Tensor is_first = broadcast_in_dim(equal(stage, 0), arriving.shape(), {0});
      in.push_back(laid_out(flow, select(is_first, queued, arriving), false));
    }
    Values arguments = in;
    arguments.insert(arguments.end(), parameters_.values.begin(), parameters_.values.end());
    arguments.insert(arguments.end(), queue, carry.end());  // state
    arguments.insert(arguments.end(), work.begin(), work.end());
    arguments.push_back(stage);
    const Values results = vmap([this](const Values& v) { return run_stage(v); }, arguments,
                                {.mesh_axes = kStageAxes});

    auto result = results.begin();
    queue = carry.begin() + num_flows;
    ScanResult out;
    Values queues;
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Tensor& value = flows_[i].changes ? *result++ : in[i];
      out.carry.push_back(laid_out(flows_[i], moved_on(value), false));
      if (!flows_[i].changes) continue;
      const Tensor old = dynamic_index_in_dim(*queue, leaves, 1);
      queues.push_back(dynamic_update_index_in_dim(
          *queue++, select(leaves_counts, out.carry.back(), old), leaves, 1));
    }
    out.carry.insert(out.carry.end(), queues.begin(), queues.end());
    out.carry.insert(out.carry.end(), result, result + std::ssize(state_.paths));
    out.ys.assign(result + std::ssize(state_.paths), results.end());
    return out;
  }

  // A stage that is idle computes as the others do, on values of some microbatch, so that it makes
  // no number that is not finite.
  ScanResult loop() {
    Values carry, queues;
    std::vector<std::string> names, queue_names;
    for (const Flow& flow : flows_) {
      names.push_back(flow.name);
      carry.push_back(
          laid_out(flow, repeated(index_in_dim(flow.parts, 0, 0), num_stages()), false));
      if (!flow.changes) continue;
      queues.push_back(laid_out(flow, repeated(flow.parts, num_stages()), true));
      queue_names.push_back(flow.name);
    }
    carry.insert(carry.end(), queues.begin(), queues.end());
    names.insert(names.end(), queue_names.begin(), queue_names.end());
    carry.insert(carry.end(), state_.values.begin(), state_.values.end());
    names.insert(names.end(), state_.paths.begin(), state_.paths.end());
    return scan([this](const Values& c, const Values& xs) { return iteration(c, xs); }, carry,
                work(), plan_.num_iterations(), {.names = names});
  }

  PipelineOutputs outputs(const ScanResult& result) {
    PipelineOutputs out;
    auto at = result.carry.begin() + std::ssize(flows_);
    for (const Flow& flow : flows_) {
      if (!flow.changes) continue;
      Traveller last = flow;
      last.parts = index_in_dim(*at++, 0, 0);
      if (flow.is_published)
        out.published.push_back(std::move(last));
      else
        out.x = std::move(last);
    }
    const Tensor places_RSM = places();
    const auto by_microbatch = [&](const Tensor& t_ISL) {  // [R, S, M, L, ..]
      return take(flatten(t_ISL, 0, 1), places_RSM, 0,
                  {.mode = GatherMode::kPromiseInBounds, .unique_indices = true});
    };
    const auto mean_of = [&](const Tensor& t_ISL) {
      const DType dtype = is_float(t_ISL.dtype()) ? t_ISL.dtype() : DType::kF32;
      const Tensor t_RSML = astype(by_microbatch(t_ISL), dtype);
      if (!inputs_.weights_M) return flatten(mean(t_RSML, {2}), 0, 2);
      return flatten(einsum("rsm...,m->rs...", t_RSML, astype(*inputs_.weights_M, dtype)), 0, 2);
    };
    auto y = result.ys.begin();
    replace_tensors(collected_, y);
    for (Tree<Tensor>* tree : {&collected_.summaries, &collected_.aux_losses}) {
      for (auto& [path, value] : *tree) value = mean_of(value);
    }
    for (auto& [path, value] : collected_.outputs)
      value = flatten(move_axis(by_microbatch(value), 2, 3), 0, 2);
    for (auto& [path, value] : state_.slices(at))
      collected_.state.emplace(path, of_all_layers(value));
    out.collected = std::move(collected_);
    return out;
  }

  const PipelinePlan& plan_;
  const LayerLoop& run_;
  const PipelineInputs& inputs_;
  std::vector<Flow> flows_;  // x is the first
  FlatTree parameters_, state_;
  Tree<Type> newly_published_;
  OutputCollection collected_;
};

}  // namespace

PipelineOutputs run_stages(const PipelinePlan& plan, const LayerLoop& run,
                           const PipelineInputs& inputs, const RowsOf& rows_of) {
  return StageLoop(plan, run, inputs).emit(rows_of);
}

}  // namespace axle
