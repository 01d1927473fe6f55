#include "layers/experts/sorted_dispatch.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/sort.h"
#include "ops/products/einsum.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

const GatherOptions kPermutation = {.mode = GatherMode::kPromiseInBounds, .unique_indices = true};

// Returns how many choices fall on each expert: i32[M] -> i32[E].
Tensor sizes_of(const Tensor& experts_M, int64_t num_experts) {
  return reduce_sum(one_hot(experts_M, num_experts, DType::kI32), {0});
}

}  // namespace

// Choices are numbered k * N + n, so that the sum over a token's choices adds whole blocks.
Dispatched SortedDispatch::run(const Tensor& x_BTD, const Routing& routing,
                               const Experts& experts) const {
  const int64_t num_choices = routing.experts_BTK.dim(2), model_dim = x_BTD.dim(2);
  const auto by_choice = [&](const Tensor& t_BTK) {
    return swap_axes(reshape(t_BTK, {-1, num_choices}), 0, 1);
  };
  const Tensor x_ND = reshape(x_BTD, {-1, model_dim});
  const Tensor experts_M = flatten(by_choice(routing.experts_BTK));
  const Tensor order_M = argsort(experts_M), place_M = argsort(order_M);
  const Tensor token_M = remainder(order_M, full_like(order_M, x_ND.dim(0)));
  const Tensor in_MD = take(x_ND, token_M, 0, {.mode = GatherMode::kPromiseInBounds});
  const Tensor out_MD = experts(in_MD, sizes_of(experts_M, num_experts_));
  const Tensor out_KND = unflatten(take(out_MD, place_M, 0, kPermutation), 0, {num_choices, -1});
  const Tensor y_ND =
      einsum("knd,kn->nd", astype(out_KND, DType::kF32), by_choice(routing.weights_BTK));
  return {.y_BTD = reshape(astype(y_ND, x_BTD.dtype()), x_BTD.shape())};
}

AXLE_REGISTER(SortedDispatch)

}  // namespace axle
