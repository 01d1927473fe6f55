#include "layers/models/loss_sums.h"

#include <algorithm>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/cross_entropy.h"
#include "ops/reductions/reduce.h"
#include "transform/control_flow/scan.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

// x[B, T, ..] -> [C, B, chunk_len, ..], with `fill` after the end.
Tensor chunks_of(const Tensor& x, int64_t chunk_len, double fill) {
  const int64_t missing = (chunk_len - x.dim(1) % chunk_len) % chunk_len;
  const Tensor padded = missing > 0 ? pad_in_dim(x, 1, 0, missing, fill) : x;
  return move_axis(unflatten(padded, 1, {-1, chunk_len}), 1, 0);
}

}  // namespace

LossSums loss_sums(const Tensor& logits_BTV, const Tensor& labels_BT) {
  const CrossEntropy ce_BT = softmax_cross_entropy(logits_BTV, labels_BT);
  const Tensor live_BT = labels_BT >= 0;
  const auto sum_of_live = [&](const Tensor& x_BT) { return sum(select(live_BT, x_BT, 0)); };
  return {sum_of_live(ce_BT.loss), sum_of_live(square(ce_BT.log_z))};
}

LossSums chunked_loss_sums(const std::function<Tensor(const Tensor&)>& head, const Tensor& x_BTD,
                           const Tensor& labels_BT, int64_t chunk_len) {
  chunk_len = std::min(chunk_len, x_BTD.dim(1));
  const Tensor x = chunks_of(x_BTD, chunk_len, 0), labels = chunks_of(labels_BT, chunk_len, -1);
  const ScanResult sums = scan(
      [&](const Values& carry, const Values& chunk) {
        const Values own = remat(
            [&](const Values& v) {
              const LossSums of_chunk = loss_sums(head(v[0]), v[1]);
              return Values{of_chunk.cross_entropy, of_chunk.squared_log_z};
            },
            chunk, save_nothing(), false);
        return ScanResult{.carry = {carry[0] + own[0], carry[1] + own[1]}, .ys = {}};
      },
      {zeros({}), zeros({})}, {x, labels}, x.dim(0), {.names = {"cross_entropy", "squared_log_z"}});
  return {sums.carry[0], sums.carry[1]};
}

}  // namespace axle
