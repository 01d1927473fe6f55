#include "transform/grad.h"

#include <fmt/format.h>

#include "base/concatenate.h"
#include "base/error.h"
#include "ops/create.h"
#include "transform/linearize.h"

namespace axle {

Linearized vjp(const TensorFunction& fn, const Values& arguments, const std::vector<bool>& active) {
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  const size_t num_captures = closed.captures.size();
  std::vector<bool> all_active(num_captures, false);
  for (size_t i = 0; i < arguments.size(); ++i) all_active.push_back(active.empty() || active[i]);
  Linearized out = linearize(*closed.region, closed.operands(arguments), all_active);
  // The tape points into the traced region, so the pullback keeps the region alive.
  out.pullback = [pullback = std::move(out.pullback), region = closed.region,
                  num_captures](const Values& cotangents) {
    const Values of_all = pullback(cotangents);
    return concatenate<Tensor>({std::span(of_all).subspan(num_captures)});
  };
  return out;
}

std::pair<Values, Values> value_and_grad(const TensorFunction& fn, const Values& arguments) {
  Linearized f = vjp(fn, arguments);
  const Tensor& loss = f.outputs.at(0);
  if (loss.rank() != 0 || !is_float(loss.dtype())) {
    throw ShapeError(
        fmt::format("value_and_grad: the first output must be a floating-point scalar, got {}",
                    describe(loss)));
  }
  Values cotangents(f.outputs.size());
  cotangents[0] = scalar(1, loss.dtype());
  Values gradients = f.pullback(cotangents);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (is_float(arguments[i].dtype()))
      gradients[i] = instantiate(gradients[i], arguments[i].type());
  }
  return {std::move(f.outputs), std::move(gradients)};
}

}  // namespace axle
