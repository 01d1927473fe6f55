#include "layers/recurrent/recurrent_cell.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "nn/real_tokens.h"
#include "nn/role_methods.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/shape.h"
#include "ops/random/random.h"
#include "transform/control_flow/scan.h"

namespace axle {
namespace {

// Returns the rows of `a` where rows_B is true, else those of `other`.
Tensor rows_where(const Tensor& rows_B, const Tensor& a, const Tensor& other, int64_t batch_axis) {
  Shape shape(a.shape().size(), 1);
  shape[static_cast<size_t>(batch_axis)] = -1;
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

}  // namespace axle
