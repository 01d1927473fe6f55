#include "layers/recurrent/stacked_cells.h"

#include <fmt/format.h>

#include "config/register.h"

namespace axle {

StackedCells::StackedCells(const Config& cfg, const Dims& dims, const Scope& scope)
    : RecurrentCell(scope) {
  const size_t n = cfg.layers.size();
  if (n == 0) fail("layers", "expected at least one cell, got none");
  if (!cfg.dims.empty() && cfg.dims.size() != n - 1) {
    fail("dims", fmt::format("must have an entry for each of the first {} layers or none, got {}",
                             n - 1, cfg.dims.size()));
  }
  int64_t input_dim = dims.input_dim;
  for (size_t i = 0; i < n; ++i) {
    const int64_t output_dim =
        i + 1 == n || cfg.dims.empty() ? int64_t{dims.output_dim} : int64_t{cfg.dims[i]};
    layers_.push_back(child(fmt::format("layer{}", i), cfg.layers[i],
                            {.input_dim = input_dim, .output_dim = output_dim},
                            fmt::format("layers[{}]", i)));
    input_dim = output_dim;
  }
}

Tree<CellStateSpec> StackedCells::state_specs_of(int64_t batch_size, DType dtype) const {
  Tree<CellStateSpec> out;
  for (const auto& layer : layers_)
    put_subtree(out, layer->last_name(), layer->state_specs_of(batch_size, dtype));
  return out;
}

CellStep StackedCells::step_forward(const Tensor& x_BI, const Tree<Tensor>& state) {
  CellStep out{.y = x_BI};
  for (const auto& layer : layers_) {
    CellStep next = layer->step(out.y, subtree(state, layer->last_name()));
    out.y = next.y;
    put_subtree(out.state, layer->last_name(), std::move(next.state));
  }
  return out;
}

AXLE_REGISTER(StackedCells)

}  // namespace axle
