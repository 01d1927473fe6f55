#include "layers/recurrent/recurrent.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {
namespace {

// True where a text starts, bool[T, B]; none if nothing tells.
std::optional<Tensor> starts_of(const MixerContext& context) {
  if (context.positions) return swap_axes(equal(*context.positions, 0), 0, 1);
  if (!context.segment_ids) return std::nullopt;
  const Tensor& ids_BT = *context.segment_ids;
  const Tensor before_BT = pad_in_dim(slice_in_dim(ids_BT, 1, 0, ids_BT.dim(1) - 1), 1, 1, 0);
  return swap_axes(not_equal(ids_BT, before_BT), 0, 1);
}

// True for the tokens that are no padding, bool[T, B]; none if all are.
std::optional<Tensor> counts_of(const MixerContext& context, int64_t length) {
  if (!context.last_index) return std::nullopt;
  const Tensor last_1B = expand_dims(astype(*context.last_index, DType::kI32), 0);
  return iota({length, last_1B.dim(1)}, 0) <= last_1B;
}

}  // namespace

Recurrent::Recurrent(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      cell_(child("cell", cfg.cell, {.input_dim = dims.model_dim, .output_dim = dims.model_dim})) {}

Tree<StateSpec> Recurrent::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> out;
  for (const auto& [name, spec] : cell_->state_specs_of(dims.batch_size, dims.dtype)) {
    StateSpec decode{.type = spec.type};
    decode.mesh_axes.dims.resize(static_cast<size_t>(spec.batch_axis), kReplicated);
    decode.mesh_axes.dims.push_back(kBatchAxes);
    out.emplace(join_path(path(), "state/" + name), std::move(decode));
  }
  return out;
}

Tensor Recurrent::forward(const Tensor& x_BTD, const MixerContext& context) {
  Tree<Tensor> initial = cell_->zero_state(x_BTD.dim(0), x_BTD.dtype());
  if (decoding()) {
    for (auto& [name, value] : initial) value = astype(state("state/" + name), value.dtype());
  }
  CellSteps steps{.starts = starts_of(context), .counts = counts_of(context, x_BTD.dim(1))};
  if (context.segment_ids) steps.segment_ids = swap_axes(*context.segment_ids, 0, 1);
  const CellStep all = cell_->run(swap_axes(x_BTD, 0, 1), std::move(initial), steps);
  if (decoding()) {
    for (const auto& [name, value] : all.state)
      set_state("state/" + name, astype(value, state("state/" + name).dtype()));
  }
  return swap_axes(all.y, 0, 1);
}

AXLE_REGISTER(Recurrent)

}  // namespace axle
