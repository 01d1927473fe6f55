#include "layers/pipeline/pipeline.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/lists.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "layers/pipeline/stage_loop.h"
#include "nn/layer_stack.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

Tree<ParamSpec> over_stages(Tree<ParamSpec> specs) {
  for (auto& [path, spec] : specs) spec.mesh_axes.at(0) = kStageAxes;
  return specs;
}

// The devices along the axis of stages, each of which has a stage.
int64_t stages_of(const Mesh& mesh) {
  return num_parts(restrict(PartitionSpec{{kStageAxes}}, mesh), mesh);
}

Tensor merged(const Traveller& t) {
  return t.rows ? merge_rows(t.parts, *t.rows) : index_in_dim(t.parts, 0, -1);
}

}  // namespace

Pipeline::Pipeline(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      cfg_(cfg),
      schedule_(child("schedule", cfg.schedule, {.num_microbatches = *cfg.num_microbatches})),
      layer_(child("layer", cfg.layer, dims)) {
  if (const auto text = uncountable_text(param_specs())) fail("num_layers", *text + "; lower it");
  const int64_t rounds = schedule_->num_rounds();
  if (*cfg.num_layers % rounds != 0) {
    fail("num_layers", fmt::format("expected a multiple of the {} rounds of the schedule, got {}",
                                   rounds, int64_t{*cfg.num_layers}));
  }
}

PipelinePlan Pipeline::plan() const {
  const Mesh& mesh = Invocation::current().options().mesh;
  const int64_t layers = *cfg_.num_layers;
  const int64_t microbatches = decoding() ? 1 : int64_t{*cfg_.num_microbatches};
  PipelinePlan out{.num_stages = decoding() ? 1 : stages_of(mesh),
                   .num_microbatches = microbatches,
                   .num_rounds = 1,
                   .layers_per_run = layers,
                   .passes = {}};
  if (out.num_stages == 1) {
    for (int64_t m = 0; m < microbatches; ++m) out.passes.push_back({.round = 0, .microbatch = m});
    return out;
  }
  out.num_rounds = schedule_->num_rounds();
  out.passes = schedule_->passes(out.num_stages);
  check_passes(out);
  const int64_t runs = saturating_product(out.num_stages, out.num_rounds);
  if (layers % runs != 0) {
    fail("num_layers",
         fmt::format("expected a multiple of {} stages (devices of the mesh axis pipeline) times "
                     "{} round{}, got {}; change one of them",
                     out.num_stages, out.num_rounds, out.num_rounds == 1 ? "" : "s", layers));
  }
  out.layers_per_run = layers / runs;
  return out;
}

void Pipeline::check_passes(const PipelinePlan& plan) const {
  std::map<int64_t, int64_t> begun, done;  // by microbatch: its newest iteration, its rounds
  for (int64_t i = 0; i < std::ssize(plan.passes); ++i) {
    const auto [round, m] = plan.passes[i];
    if (m >= 0 && m < plan.num_microbatches && round == done[m]++ &&
        (round == 0 || i - begun[m] >= plan.num_stages)) {
      begun[m] = i;
      continue;
    }
    fail("schedule",
         fmt::format("expected each round of a microbatch to begin {} iterations (stages) after "
                     "the one before, got round {} of microbatch {} in iteration {}; raise "
                     "num_microbatches, or use GPipe",
                     plan.num_stages, round, m, i));
  }
  if (std::ssize(plan.passes) != plan.num_rounds * plan.num_microbatches) {
    fail("schedule", fmt::format("expected {} rounds of {} microbatches, got {} passes in all",
                                 plan.num_rounds, plan.num_microbatches, plan.passes.size()));
  }
}

Tree<ParamSpec> Pipeline::param_specs() const {
  return over_stages(stacked(layer_->param_specs(), *cfg_.num_layers));
}
Tree<ParamSpec> Pipeline::state_specs() const {
  return over_stages(stacked(layer_->state_specs(), *cfg_.num_layers));
}

Tree<StateSpec> Pipeline::decode_state_specs(const DecodeDims& dims) const {
  return stacked(layer_->decode_state_specs(dims), *cfg_.num_layers);
}

Tree<Tensor> Pipeline::initialize(const random::Key& key) const {
  return initialize_stacked(*layer_, key, *cfg_.num_layers);
}

Traveller Pipeline::split(const std::string& name, const Tensor& value, std::optional<int64_t> rows,
                          int64_t batch_size) const {
  const int64_t n = *cfg_.num_microbatches;
  if (!rows) {
    const Tensor parts =
        broadcast_in_dim(value, prepended(n, value.shape()), axis_range(1, value.rank() + 1));
    return {name, parts, rows};
  }
  if (*rows >= value.rank() || value.dim(*rows) != batch_size) {
    throw ShapeError(fmt::format(
        "{}: expected '{}' with the {} rows of x in dim {}, got {}; name the dim of a published "
        "value in 'rows'",
        config_path(), name, batch_size, *rows, to_text(value.type())));
  }
  if (batch_size % n != 0) {
    fail("num_microbatches",
         fmt::format("must divide the rows of a batch, or of its parts (learner.microbatches, "
                     "learner.device_rows), got {} and {} {}",
                     n, name, to_text(value.type())));
  }
  const Tensor parts = split_rows(value, n, *rows);
  const Mesh& mesh = Invocation::current().options().mesh;
  if (mesh.num_devices() == 1 || stages_of(mesh) > 1) return {name, parts, rows};
  // Without stages that ask for a layout, the partitioner divides parts of few rows wrongly.
  PartitionSpec axes;
  axes.dims.assign(parts.shape().size(), kUnconstrained);
  axes.dims[0] = kReplicated;
  axes.dims[static_cast<size_t>(*rows) + 1] = kBatchAxes;
  return {name, sharding_constraint(parts, restrict(axes, parts.shape(), mesh)), rows};
}

std::optional<int64_t> Pipeline::rows_of(const std::string& name, const Type& type,
                                         int64_t num_rows) const {
  if (const auto found = cfg_.rows.find(name); found != cfg_.rows.end()) {
    const int64_t dim = found->second;
    return dim < 0 ? std::nullopt : std::optional(dim);
  }
  if (name == kPositionStreams) return 1;
  // One row for all, as of a bias that layers share.
  const bool is_for_all = num_rows > 1 && !type.dims.empty() && type.dims[0] == 1;
  return is_for_all ? std::nullopt : std::optional<int64_t>(0);
}

Tensor Pipeline::shares_of_tokens(const Tensor& segment_ids_BT) const {
  const Tensor real_MbT = split_rows(not_equal(segment_ids_BT, 0), *cfg_.num_microbatches);
  const Tensor tokens_M = reduce_sum(astype(real_MbT, DType::kF32), {1, 2});
  return tokens_M / maximum(sum(tokens_M), 1);
}

Tensor Pipeline::forward(const Tensor& x_BTD, const MixerContext& context) {
  Invocation& outer = Invocation::current();
  const PipelinePlan plan = this->plan();
  const LayerLoop run{*layer_, outer.path(), plan.layers_per_run, cfg_.unroll};
  LayerStack layers = current_stack(*layer_);
  if (plan.num_stages == 1 && plan.num_microbatches == 1) {
    auto [y_BTD, collected] = run.run(x_BTD, context, layers);
    outer.merge(std::move(collected));
    return y_BTD;
  }
  const int64_t batch_size = x_BTD.dim(0);
  PipelineInputs inputs{.arguments = {split("x", x_BTD, 0, batch_size)},
                        .context = context,
                        .published = {},
                        .layers = {}};
  for (const auto& [name, value] : named_tensors_of(inputs.context))
    inputs.arguments.push_back(split(name, value, 0, batch_size));
  for (const auto& [name, value] : std::exchange(layers.options.published, {})) {
    const auto rows = rows_of(name, value.type(), batch_size);
    inputs.published.push_back(split(name, value, rows, batch_size));
  }
  inputs.layers = std::move(layers);
  if (context.segment_ids) inputs.weights_M = shares_of_tokens(*context.segment_ids);

  PipelineOutputs out = run_stages(
      plan, run, inputs, [this](const auto&... published) { return rows_of(published...); });
  for (const Traveller& t : out.published) out.collected.published.emplace(t.name, merged(t));
  outer.merge(std::move(out.collected));
  return merged(out.x);
}

AXLE_REGISTER(Pipeline)

}  // namespace axle
