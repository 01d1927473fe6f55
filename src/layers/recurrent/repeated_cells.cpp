#include "layers/recurrent/repeated_cells.h"

#include <fmt/format.h>

#include "config/register.h"
#include "nn/layer_stack.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "transform/control_flow/scan.h"

namespace axle {

RepeatedCells::RepeatedCells(const Config& cfg, const Dims& dims, const Scope& scope)
    : RecurrentCell(scope), num_layers_(cfg.num_layers), layer_(child("layer", cfg.layer, dims)) {
  if (int64_t{dims.input_dim} != int64_t{dims.output_dim}) {
    fail("layer", fmt::format("expected the same input and output dim to repeat it, got {} and {}",
                              int64_t{dims.input_dim}, int64_t{dims.output_dim}));
  }
}

Tree<ParamSpec> RepeatedCells::param_specs() const {
  return stacked(layer_->param_specs(), num_layers_);
}
Tree<ParamSpec> RepeatedCells::state_specs() const {
  return stacked(layer_->state_specs(), num_layers_);
}
Tree<Tensor> RepeatedCells::initialize(const random::Key& key) const {
  return initialize_stacked(*layer_, key, num_layers_);
}

Tree<CellStateSpec> RepeatedCells::state_specs_of(int64_t batch_size, DType dtype) const {
  Tree<CellStateSpec> specs = layer_->state_specs_of(batch_size, dtype);
  for (auto& [name, spec] : specs) {
    spec.type.dims.insert(spec.type.dims.begin(), num_layers_);
    ++spec.batch_axis;
  }
  return specs;
}

CellStep RepeatedCells::step_forward(const Tensor& x_BI, const Tree<Tensor>& state) {
  Invocation& outer = Invocation::current();
  const InvocationOptions outer_options = outer.nested_options();
  FlatTree parameters, of_layers, of_cells;
  for (const auto& [path, spec] : layer_->param_specs())
    parameters.add(path, outer.parameter(path));
  for (const auto& [path, value] : outer_options.state) {
    if (path.starts_with(layer_->path() + "/")) of_layers.add(path, value);
  }
  for (const auto& [name, value] : state) of_cells.add(name, value);
  Values xs{iota({num_layers_}, 0, DType::kU32)};
  for (const FlatTree* tree : {&parameters, &of_layers, &of_cells})
    xs.insert(xs.end(), tree->values.begin(), tree->values.end());

  OutputCollection collected;
  const ScanResult result = scan(
      [&](const Values& carried, const Values& slices) {
        auto at = slices.begin() + 1;
        Tree<Tensor> own = parameters.slices(at);
        InvocationOptions options = outer_options;
        options.state = of_layers.slices(at);
        const Tree<Tensor> unchanged = options.state, before = of_cells.slices(at);
        options.in_loop = true;
        if (options.key) options.key = random::fold_in(options.key, slices[0]);
        Invocation inner(outer.path(), std::move(own), std::move(options));
        CellStep next = layer_->step(carried[0], before);
        collected = std::move(inner.collection());
        collected.published.clear();  // no layer reads the values of one step
        for (const auto& [path, value] : unchanged) collected.state.try_emplace(path, value);
        ScanResult out{.carry = {next.y}, .ys = tensors_of(next.state)};
        for (const Tensor& value : tensors_of(collected)) out.ys.push_back(value);
        return out;
      },
      {x_BI}, xs, num_layers_, {.names = {"x"}});
  auto at = result.ys.begin();
  CellStep out{.y = result.carry[0], .state = of_cells.slices(at)};
  replace_tensors(collected, at);
  outer.merge(std::move(collected));
  return out;
}

AXLE_REGISTER(RepeatedCells)

}  // namespace axle
