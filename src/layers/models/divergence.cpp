#include "layers/models/divergence.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

// Tokens of probability 0 count 0, also where the other model's probability is 0.
Tensor kl(const Tensor& log_p, const Tensor& log_q) {
  const Tensor p = exp(log_p);
  return reduce_sum(select(p > 0, p * (log_p - log_q), 0), {-1});
}

}  // namespace

Tensor ForwardKL::operator()(const Predictions& log_probs) const {
  return kl(log_probs.teacher, log_probs.student);
}

Tensor ReverseKL::operator()(const Predictions& log_probs) const {
  return kl(log_probs.student, log_probs.teacher);
}

AXLE_REGISTER(ForwardKL)
AXLE_REGISTER(ReverseKL)

}  // namespace axle
