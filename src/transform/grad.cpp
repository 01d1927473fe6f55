#include "transform/grad.h"

#include <fmt/format.h>

#include "base/concatenate.h"
#include "base/error.h"
#include "ops/create.h"
#include "transform/linearize.h"

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

}  // namespace

Linearized vjp(const TensorFunction& fn, const Values& arguments, const std::vector<bool>& active) {
  if (!active.empty() && active.size() != arguments.size()) {
    shape_error("vjp",
                fmt::format("expected marks of active arguments for all {} or none, got {}",
                            arguments.size(), active.size()),
                arguments);
  }
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
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

std::pair<Values, Values> jvp(const TensorFunction& fn, const Values& arguments,
                              const Values& tangents) {
  if (tangents.size() != arguments.size()) {
    shape_error("jvp",
                fmt::format("expected a tangent for each of {} arguments, got {}; leave those that "
                            "are zero empty",
                            arguments.size(), tangents.size()),
                arguments);
  }
  std::vector<bool> active;
  for (size_t i = 0; i < arguments.size(); ++i) {
    active.push_back(static_cast<bool>(tangents[i]));
    if (!active[i]) continue;
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
  const Linearized f = vjp(fn, arguments, active);
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
