#include "layers/recurrent/recurrent.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "nn/layer_role.h"
#include "nn/layer_stack.h"
#include "nn/statistic.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "transform/control_flow/control_flow.h"

namespace axle {
namespace {

// Returns the rows of `a` where rows_B is true, else the rows of `other`.
Tensor rows_where(const Tensor& rows_B, const Tensor& a, const Tensor& other, int64_t batch_axis) {
  Shape shape(a.shape().size(), 1);
  shape[batch_axis] = -1;
  return select(reshape(rows_B, shape), a, other);
}

void check_state_names(const std::string& path, const Tree<Tensor>& given,
                       const Tree<CellStateSpec>& wanted) {
  for (const auto& [name, spec] : wanted) {
    if (!given.contains(name))
      throw ConfigError(fmt::format("{}: expected the state '{}', got none", path, name));
  }
  for (const auto& [name, value] : given) {
    if (!wanted.contains(name))
      throw ConfigError(fmt::format("{}: expected no state '{}', got one", path, name));
  }
}

}  // namespace

Tree<Tensor> RecurrentCell::zero_state(int64_t batch_size, DType dtype) const {
  Tree<Tensor> out;
  for (const auto& [name, spec] : state_specs_of(batch_size, dtype))
    out.emplace(name, zeros(spec.type.dims, spec.type.dtype));
  return out;
}

CellStep RecurrentCell::step(const Tensor& x_BI, const Tree<Tensor>& state) {
  const Invocation::Frame frame(*this);
  check_state_names(path(), state, state_specs_of(x_BI.dim(0), x_BI.dtype()));
  return checked_step(x_BI, state);
}

CellStep RecurrentCell::checked_step(const Tensor& x_BI, const Tree<Tensor>& state) {
  CellStep next = step_forward(x_BI, state);
  check_result(next.y, x_BI);
  return next;
}

void RecurrentCell::check_result(const Tensor& y, const Tensor& x) const {
  Type expected = x.type();
  expected.dims.back() = given_dims() ? int64_t{given_dims()->output_dim} : kAnySize;
  expect_result(y, expected);
}

CellStep RecurrentCell::run(const Tensor& x_TBI, Tree<Tensor> state, const CellSteps& steps) {
  const Invocation::Frame frame(*this);
  return scan_steps(x_TBI, std::move(state), steps);
}

Tensor RecurrentCell::forward(const Tensor& x_TBI) {
  if (decoding()) {
    throw ConfigError(fmt::format(
        "{}: expected a call that gives the state of earlier steps while decoding, got none; call "
        "run, as Recurrent does",
        path()));
  }
  CellStep all = scan_steps(x_TBI, zero_state(x_TBI.dim(1), x_TBI.dtype()), CellSteps{});
  for (const auto& [name, value] : all.state) add_output("final_state/" + name, value);
  return all.y;
}

CellStep RecurrentCell::scan_steps(const Tensor& x_TBI, Tree<Tensor> state,
                                   const CellSteps& steps) {
  const Tree<CellStateSpec> specs = state_specs_of(x_TBI.dim(1), x_TBI.dtype());
  check_state_names(path(), state, specs);
  Invocation& outer = Invocation::current();
  const InvocationOptions outer_options = outer.nested_options();
  // Layers inside a cell may have state of their own, which the steps carry as well.
  Tree<Tensor> of_layers;
  for (const auto& [name, value] : outer_options.state) {
    if (name.starts_with(path() + "/")) of_layers.emplace(name, value);
  }
  Values carry = tensors_of(state), xs{x_TBI, iota({x_TBI.dim(0)}, 0, DType::kU32)};
  std::vector<std::string> names;
  for (const Tree<Tensor>* tree : {&state, &of_layers}) {
    for (const auto& [name, value] : *tree) names.push_back(name);
  }
  for (const Tensor& value : tensors_of(of_layers)) carry.push_back(value);
  for (const std::optional<Tensor>& of_steps : {steps.starts, steps.counts, steps.segment_ids}) {
    if (of_steps) xs.push_back(*of_steps);
  }

  OutputCollection collected;
  const ScanResult result = scan(
      [&](const Values& carried, const Values& slices) {
        Tree<Tensor> before = state;
        InvocationOptions options = outer_options;
        auto at = carried.begin();
        replace_tensors(before, at);
        for (const auto& [name, value] : of_layers) options.state.at(name) = *at++;
        auto of_step = slices.begin() + 2;
        if (steps.starts) {
          const Tensor starts_B = *of_step++;
          for (auto& [name, value] : before)
            value = rows_where(starts_B, zeros_like(value), value, specs.at(name).batch_axis);
        }
        const Tensor counts_B = steps.counts ? *of_step++ : Tensor();
        options.segment_ids = steps.segment_ids ? std::optional(*of_step) : std::nullopt;
        options.in_loop = true;
        if (options.key) options.key = random::fold_in(options.key, slices[1]);
        Invocation inner(outer.path(), outer.parameters(), options);
        CellStep next = checked_step(slices[0], before);
        if (counts_B) {
          for (auto& [name, value] : next.state)
            value = rows_where(counts_B, value, before.at(name), specs.at(name).batch_axis);
        }
        collected = std::move(inner.collection());
        ScanResult out{.carry = tensors_of(next.state), .ys = {next.y}};
        const auto is_counted = has_tokens();  // a step of padding alone changes no layer's state
        for (const auto& [name, value] : of_layers) {
          const Tensor& unchanged = options.state.at(name);
          const auto changed = collected.state.find(name);
          if (changed == collected.state.end())
            out.carry.push_back(unchanged);
          else
            out.carry.push_back(is_counted ? select(*is_counted, changed->second, unchanged)
                                           : changed->second);
        }
        collected.state.clear();
        collected.published.clear();  // no layer reads the values of one step
        for (const Tensor& value : tensors_of(collected)) out.ys.push_back(value);
        return out;
      },
      carry, xs, x_TBI.dim(0), {.names = names});
  auto at = result.ys.begin() + 1;
  replace_tensors(collected, at);
  at = result.carry.begin();
  replace_tensors(state, at);
  collected.state = of_layers;
  replace_tensors(collected.state, at);
  outer.merge(std::move(collected));
  return {.y = result.ys[0], .state = std::move(state)};
}

std::vector<Method> RecurrentCell::methods() {
  std::vector<Method> all = LayerRole::methods();
  all.push_back(method<CellStep, const Tensor&, const Tree<Tensor>&>(
      "step", kStepInputs,
      [this](const Tensor& x, const Tree<Tensor>& state) { return step(x, state); }));
  return all;
}

const RoleMethods recurrent_cell_methods(typeid(RecurrentCell),
                                         {{"step", RecurrentCell::kStepInputs}});

AXLE_REGISTER(RecurrentCell::Dims)

template class LayerRole<RecurrentCell, RecurrentCell::Signature>;

LSTMCell::LSTMCell(const Config& cfg, const Dims& dims, const Scope& scope)
    : RecurrentCell(scope),
      output_dim_(dims.output_dim),
      hidden_dim_(cfg.hidden_dim.value_or(dims.output_dim)),
      max_cell_value_(cfg.max_cell_value),
      input_proj_(child("input_proj", cfg.input_proj,
                        {.input_dim = dims.input_dim + dims.output_dim,
                         .num_outputs = 4,
                         .output_dim = hidden_dim_,
                         .output_axes = kShardAxes})) {
  if (cfg.hidden_dim) {
    output_proj_ = child("output_proj", cfg.output_proj,
                         {.input_dim = hidden_dim_, .output_dim = dims.output_dim});
  }
  norm_ = child("norm", cfg.norm, {.input_dim = hidden_dim_});
}

Tree<CellStateSpec> LSTMCell::state_specs_of(int64_t batch_size, DType dtype) const {
  return {{"m", {.type = {dtype, {batch_size, output_dim_}}}},
          {"c", {.type = {wide_dtype(dtype), {batch_size, hidden_dim_}}}}};
}

CellStep LSTMCell::step_forward(const Tensor& x_BI, const Tree<Tensor>& state) {
  const Tensor &m_BO = state.at("m"), &c_BH = state.at("c");
  Tensor gates_B4H = input_proj_(concatenate({x_BI, astype(m_BO, x_BI.dtype())}, -1));
  if (norm_) gates_B4H = (*norm_)(gates_B4H);
  gates_B4H = astype(gates_B4H, c_BH.dtype());
  const auto gate = [&](int64_t i) { return index_in_dim(gates_B4H, 1, i); };
  const Tensor input = tanh(gate(0));
  const Tensor kept = sigmoid(gate(1)) * c_BH;
  Tensor new_c_BH = kept + sigmoid(gate(2)) * input;
  if (max_cell_value_) new_c_BH = clamp(-*max_cell_value_, new_c_BH, *max_cell_value_);
  Tensor y_BO = astype(sigmoid(gate(3)) * tanh(new_c_BH), x_BI.dtype());
  if (output_proj_) y_BO = (*output_proj_)(y_BO);
  return {.y = y_BO, .state = {{"m", astype(y_BO, m_BO.dtype())}, {"c", new_c_BH}}};
}

AXLE_REGISTER(LSTMCell)

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

namespace {

// True where a text starts, bool[T, B]; none if that is unknown.
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
    decode.mesh_axes.dims.resize(spec.batch_axis, kReplicated);
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
