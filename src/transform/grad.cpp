#include "transform/grad.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/lists.h"
#include "ir/value_map.h"
#include "ops/create.h"
#include "transform/bodies.h"
#include "transform/linearize.h"
#include "transform/simplify.h"
#include "transform/trace.h"

namespace axle {
namespace {

// Throws ShapeError unless the cotangents have the types of the outputs. Integers have none.
void check_cotangents(const Values& outputs, const Values& cotangents) {
  if (cotangents.size() != outputs.size()) {
    shape_error("vjp",
                fmt::format("expected a cotangent for each of {} outputs, got {}; leave those that "
                            "are zero empty",
                            outputs.size(), cotangents.size()),
                outputs);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!static_cast<bool>(cotangents[i])) continue;
    const Type& type = outputs[i].type();
    if (!is_differentiable(type.dtype)) {
      shape_error("vjp",
                  fmt::format("expected no cotangent for output {} of {}, got {}; integers have no "
                              "derivative: leave it empty",
                              i, to_text(type), describe(cotangents[i])),
                  {outputs[i]});
    }
    if (cotangents[i].type() != type) {
      shape_error("vjp",
                  fmt::format("expected a cotangent of {} for output {}, got {}", to_text(type), i,
                              describe(cotangents[i])),
                  {outputs[i]});
    }
  }
}

// Throws ShapeError unless there is a tangent or none for each argument, of its type.
void check_tangents(const Values& arguments, const Values& tangents) {
  if (tangents.size() != arguments.size()) {
    shape_error("jvp",
                fmt::format("expected a tangent for each of {} arguments, got {}; leave those that "
                            "are zero empty",
                            arguments.size(), tangents.size()),
                arguments);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!static_cast<bool>(tangents[i])) continue;
    if (!is_differentiable(arguments[i].dtype())) {
      shape_error("jvp",
                  fmt::format("expected no tangent for argument {} of {}, got {}; integers have no "
                              "derivative: leave it empty",
                              i, to_text(arguments[i].type()), describe(tangents[i])),
                  {arguments[i]});
    }
    if (tangents[i].type() == arguments[i].type()) continue;
    shape_error("jvp", fmt::format("expected a tangent of {} for argument {}, got {}",
                                   to_text(arguments[i].type()), i, describe(tangents[i])));
  }
}

// Reverse mode through a closed region. `active` as in vjp.
Linearized pulled_back(const ClosedRegion& closed, const Values& arguments,
                       const std::vector<bool>& active) {
  const size_t num_captures = closed.captures.size();
  std::vector<bool> all_active(num_captures, false);
  for (size_t i = 0; i < arguments.size(); ++i) all_active.push_back(active.empty() || active[i]);
  Linearized out = linearize(*closed.region, closed.operands(arguments), all_active);
  // The tape points into the traced region, so the pullback keeps the region alive.
  out.pullback = [pullback = std::move(out.pullback), region = closed.region, num_captures,
                  outputs = out.outputs](const Values& cotangents) {
    check_cotangents(outputs, cotangents);
    const Values of_all = pullback(cotangents);
    return concatenate<Tensor>({std::span(of_all).subspan(num_captures)});
  };
  return out;
}

// The vjp of the pullback, which is linear.
std::pair<Values, Values> transposed_twice(const ClosedRegion& closed, const Values& arguments,
                                           const Values& tangents) {
  std::vector<bool> active;
  for (const Tensor& t : tangents) active.push_back(static_cast<bool>(t));
  const TransposedOnly scope;
  const Linearized f = pulled_back(closed, arguments, active);
  Values zero_cotangents;
  for (const Tensor& y : f.outputs) {
    if (is_differentiable(y.dtype())) zero_cotangents.push_back(zeros_like(y));
  }
  const auto transposed = [&](const Values& of_floats) {
    Values cotangents;
    size_t next = 0;
    for (const Tensor& y : f.outputs)
      cotangents.push_back(is_differentiable(y.dtype()) ? of_floats[next++] : Tensor());
    const Values of_arguments = f.pullback(cotangents);
    Values out;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (active[i]) out.push_back(instantiate(of_arguments[i], arguments[i].type()));
    }
    return out;
  };
  Values directions;
  for (const Tensor& t : tangents) {
    if (t) directions.push_back(t);
  }
  const Values of_floats = vjp(transposed, zero_cotangents).pullback(directions);
  Values derivatives;
  size_t next = 0;
  for (const Tensor& y : f.outputs) {
    derivatives.push_back(is_differentiable(y.dtype()) ? instantiate(of_floats[next++], y.type())
                                                       : Tensor());
  }
  return {f.outputs, std::move(derivatives)};
}

// True if an op in the region, or in a region inside of it, has a rule for forward mode.
bool has_push_forward(const Region& region) {
  return std::ranges::any_of(region.ops(), [](const OpNode* op) {
    return op->rules->row().push_forward ||
           std::ranges::any_of(op->regions, [](const auto& r) { return has_push_forward(*r); });
  });
}

// Clones the ops of the region into the current one, each with the tangents of its results.
PushedForward push_forward(const Region& region, const Values& arguments, const Values& tangents) {
  Copies copies(region.parameters(), arguments);
  ValueMap<Tensor> moved;
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (tangents[i]) moved[region.parameters()[i]] = tangents[i];
  }
  const auto tangents_of = [&](const Values& values) {
    Values out;
    for (const Tensor& t : values) {
      const Tensor* const tangent = moved.find(t);
      out.push_back(tangent ? *tangent : Tensor());
    }
    return out;
  };
  for (const OpNode* op : region.ops()) {
    const Values of_inputs = tangents_of(op->inputs);
    const bool is_moved =
        std::ranges::any_of(of_inputs, [](const Tensor& t) { return static_cast<bool>(t); });
    if (!is_moved || !op->rules->differentiable()) {
      copies.clone(*op);
      continue;
    }
    const OriginScope origin(*op);
    const Values inputs = copies.all(op->inputs);
    PushedForward pushed;
    if (op->rules->row().push_forward) {
      pushed = op->rules->row().push_forward(*op, inputs, of_inputs);
    } else {
      const auto again = [op](const Values& x) {
        return emit_all(*op->rules, x, op->attributes, op->regions);
      };
      auto [outputs, of_outputs] =
          transposed_twice(trace_closed(again, types_of(inputs)), inputs, of_inputs);
      pushed = {std::move(outputs), std::move(of_outputs)};
    }
    copies.set_results(*op, pushed.outputs);
    for (uint32_t i = 0; i < pushed.tangents.size(); ++i) {
      if (pushed.tangents[i]) moved[Tensor(op, i)] = pushed.tangents[i];
    }
  }
  return {copies.all(region.results()), tangents_of(region.results())};
}

}  // namespace

Linearized vjp(const TensorFunction& fn, const Values& arguments, const std::vector<bool>& active) {
  if (!active.empty() && active.size() != arguments.size()) {
    shape_error("vjp",
                fmt::format("expected marks of active arguments for all {} or none, got {}",
                            arguments.size(), active.size()),
                arguments);
  }
  return pulled_back(trace_closed(fn, types_of(arguments)), arguments, active);
}

std::pair<Values, Values> jvp(const TensorFunction& fn, const Values& arguments,
                              const Values& tangents) {
  check_tangents(arguments, tangents);
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  if (!has_push_forward(*closed.region)) return transposed_twice(closed, arguments, tangents);
  // What only the transposed pullbacks would need is left out.
  const Values given = concatenate<Tensor>({Values(closed.captures.size()), tangents});
  const size_t num_outputs = closed.region->results().size();
  std::vector<bool> has_tangent;
  const ClosedRegion pushed = trace_closed(
      [&](const Values& inputs) {
        PushedForward out = push_forward(*closed.region, inputs, given);
        for (size_t i = 0; i < num_outputs; ++i) {
          const Type type = out.outputs[i].type();
          has_tangent.push_back(is_differentiable(type.dtype));
          if (has_tangent.back()) out.outputs.push_back(instantiate(out.tangents[i], type));
        }
        return out.outputs;
      },
      types_of(closed.operands(arguments)));
  const Values all =
      inline_region(*simplify(*pushed.region), pushed.operands(closed.operands(arguments)));
  return {concatenate<Tensor>({std::span(all).first(num_outputs)}),
          spread_results(concatenate<Tensor>({std::span(all).subspan(num_outputs)}), has_tangent)};
}

std::pair<Values, Values> value_and_grad(const TensorFunction& fn, const Values& arguments) {
  Linearized f = vjp(fn, arguments);
  if (f.outputs.empty())
    shape_error("value_and_grad", "expected a floating-point scalar as first output, got none");
  const Tensor& loss = f.outputs[0];
  if (loss.rank() != 0 || !is_float(loss.dtype())) {
    shape_error(
        "value_and_grad",
        fmt::format("expected a floating-point scalar as first output, got {}; {}", describe(loss),
                    is_float(loss.dtype())     ? "reduce it with sum or mean"
                    : is_complex(loss.dtype()) ? "make it real with real, imag or abs"
                                               : "integers have no derivative"));
  }
  Values cotangents(f.outputs.size());
  cotangents[0] = scalar(1, loss.dtype());
  Values gradients = f.pullback(cotangents);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (is_differentiable(arguments[i].dtype()))
      gradients[i] = instantiate(gradients[i], arguments[i].type());
  }
  return {std::move(f.outputs), std::move(gradients)};
}

}  // namespace axle
