// Letters in tensor names, for this file only:
//   N tokens   K choices of a token   D model dim   M = K * N choices   E experts   P devices
//   L experts of a device   R rows that a device can receive
#include "layers/experts/sorted_tokens.h"

#include <algorithm>

#include "ops/collectives/all_gather.h"
#include "ops/collectives/all_reduce.h"
#include "ops/collectives/ragged_all_to_all.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/index.h"
#include "ops/movement/search.h"
#include "ops/movement/shape.h"
#include "ops/movement/sort.h"
#include "ops/products/einsum.h"
#include "ops/reductions/cumulative.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

const GatherOptions kPermutation = {.mode = GatherMode::kPromiseInBounds, .unique_indices = true};

// Returns how many choices fall on each expert: i32[M] -> i32[E].
Tensor sizes_of(const Tensor& experts_M, int64_t num_experts) {
  return reduce_sum(one_hot(experts_M, num_experts, DType::kI32), {0});
}

// Returns the sum of the elements before each one.
Tensor sum_before(const Tensor& x, int64_t axis) { return cumsum(x, axis) - x; }

// Sorts choices by expert, runs the experts by `run` and sums the results of each token. Choices
// are numbered k * N + n, so that the sum over a token's choices adds whole blocks.
Tensor run_in_order(const Tensor& x_ND, const Tensor& experts_NK, const Tensor& weights_NK,
                    int64_t num_experts,
                    const std::function<Tensor(const Tensor& x_MD, const Tensor& sizes_E)>& run) {
  const int64_t num_choices = experts_NK.dim(1);
  const Tensor experts_M = flatten(swap_axes(experts_NK, 0, 1));
  const Tensor order_M = argsort(experts_M), place_M = argsort(order_M);
  const Tensor token_M = remainder(order_M, full_like(order_M, x_ND.dim(0)));
  const Tensor in_MD = take(x_ND, token_M, 0, {.mode = GatherMode::kPromiseInBounds});
  const Tensor out_MD = run(in_MD, sizes_of(experts_M, num_experts));
  const Tensor out_KND = unflatten(take(out_MD, place_M, 0, kPermutation), 0, {num_choices, -1});
  const Tensor y_ND =
      einsum("knd,kn->nd", astype(out_KND, DType::kF32), swap_axes(weights_NK, 0, 1));
  return astype(y_ND, x_ND.dtype());
}

// The rows that devices send each other. A device holds its rows sorted by expert, so that the rows
// for one device lie together; what it receives is sorted by the sending device, then by expert.
class Exchange {
 public:
  // sizes_E counts the rows of this device for each expert.
  Exchange(const DimAxes& axes, const Tensor& sizes_E)
      : axes_(axes), rank_(axis_index(axes)), num_devices_(axis_size(axes)) {
    const int64_t own_experts = sizes_E.dim(0) / num_devices_;
    const Tensor sizes_PPL =
        unflatten(all_gather(expand_dims(sizes_E, 0), axes, 0), 1, {num_devices_, own_experts});
    received_PL_ = dynamic_index_in_dim(sizes_PPL, rank_, 1);
    const Tensor rows_PP = reduce_sum(sizes_PPL, {2});  // [from, to]
    const Tensor in_sender = sum_before(rows_PP, 1), in_receiver = sum_before(rows_PP, 0);
    const auto sent = [&](const Tensor& t_PP) { return dynamic_index_in_dim(t_PP, rank_, 0); };
    const auto received = [&](const Tensor& t_PP) { return dynamic_index_in_dim(t_PP, rank_, 1); };
    there_ = {.input_offsets = sent(in_sender),
              .send_sizes = sent(rows_PP),
              .output_offsets = sent(in_receiver),
              .recv_sizes = received(rows_PP)};
    back_ = {.input_offsets = received(in_receiver),
             .send_sizes = received(rows_PP),
             .output_offsets = received(in_sender),
             .recv_sizes = sent(rows_PP)};
  }

  // Runs the experts of this device on the rows of all devices, at most `capacity`.
  Tensor run(const Tensor& x_MD, int64_t capacity, const Experts& experts) const {
    const auto rows = [&](int64_t n, DType dtype) { return zeros({n, x_MD.dim(1)}, dtype); };
    const Tensor x_RD = ragged_all_to_all(x_MD, rows(capacity, x_MD.dtype()), there_, axes_);
    // Rows that nobody has sent count for the last expert; their results are not sent back.
    const int64_t own_experts = received_PL_.dim(1);
    const Tensor run_R =
        searchsorted(cumsum(flatten(received_PL_), 0), iota({capacity}, 0), SearchSide::kRight);
    const Tensor expert_R =
        select(run_R < num_devices_ * own_experts, remainder(run_R, full_like(run_R, own_experts)),
               full_like(run_R, own_experts - 1));
    const Tensor order_R = argsort(expert_R), place_R = argsort(order_R);
    const Tensor y_RD =
        experts(take(x_RD, order_R, 0, kPermutation), sizes_of(expert_R, own_experts));
    return ragged_all_to_all(take(y_RD, place_R, 0, kPermutation), rows(x_MD.dim(0), y_RD.dtype()),
                             back_, axes_);
  }

 private:
  const DimAxes& axes_;
  Tensor rank_;
  int64_t num_devices_;
  Tensor received_PL_;  // rows of each expert of this device, by the device that sends them
  RaggedSlices there_, back_;
};

}  // namespace

Tensor run_sorted(const Tensor& x_ND, const Tensor& experts_NK, const Tensor& weights_NK,
                  const Experts& experts, int64_t num_experts) {
  return run_in_order(
      x_ND, experts_NK, weights_NK, num_experts,
      [&](const Tensor& x_MD, const Tensor& sizes_E) { return experts(x_MD, sizes_E); });
}

Tensor run_sorted_over(const DimAxes& axes, const Tensor& x_ND, const Tensor& experts_NK,
                       const Tensor& weights_NK, const Experts& experts, int64_t num_experts) {
  const int64_t num_devices = axis_size(axes);
  if (num_devices == 1) return run_sorted(x_ND, experts_NK, weights_NK, experts, num_experts);
  // The experts of a token are all different.
  const int64_t of_a_token = std::min(experts_NK.dim(1), num_experts / num_devices);
  const int64_t capacity = num_devices * x_ND.dim(0) * of_a_token;
  return run_in_order(x_ND, experts_NK, weights_NK, num_experts,
                      [&](const Tensor& x_MD, const Tensor& sizes_E) {
                        return Exchange(axes, sizes_E).run(x_MD, capacity, experts);
                      });
}

}  // namespace axle
