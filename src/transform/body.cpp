#include "transform/body.h"

#include "ir/eval.h"

namespace axle {

std::vector<Type> infer_body(const OpNode& op) {
  std::vector<Type> types;
  for (const Tensor& t : op.region().results()) types.push_back(t.type());
  return types;
}

void eval_body(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  std::vector<HostTensor> arguments;
  for (const HostTensor* t : x) arguments.push_back(*t);
  std::ranges::move(evaluate(op.region(), std::move(arguments), options), y.begin());
}

double body_flops(const OpNode& op) {
  double sum = 0;
  for (const OpNode* inner : op.region().ops()) sum += inner->rules->row().cost.flops(*inner);
  return sum;
}

}  // namespace axle
