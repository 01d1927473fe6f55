#include "layers/models/loss_sums.h"

#include <algorithm>

#include "nn/tensor_tree.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/index.h"
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

// Returns 1 / n for labels that are one of the n largest logits, else 0. An argmax would need the
// index of every logit.
Tensor hits_of(const Tensor& logits, const Tensor& labels_BT) {
  const Tensor logits_BTV = stop_gradient(logits);
  const Tensor top_BT1 = reduce_max(logits_BTV, {-1}, true);
  const Tensor is_top_BTV = astype(equal(logits_BTV, top_BT1), wide_dtype(logits.dtype()));
  const Tensor ties_BT = reduce_sum(is_top_BTV, {-1});
  const Tensor at_label_BT1 = take_along_axis(logits_BTV, expand_dims(labels_BT, -1));
  const Tensor is_hit_BT = squeeze(equal(at_label_BT1, top_BT1), {-1});
  const Tensor is_class_BT =
      (labels_BT >= 0) & (labels_BT < static_cast<double>(logits_BTV.dim(-1)));
  return select(is_hit_BT & is_class_BT, 1 / ties_BT, 0);
}

}  // namespace

LossSums loss_sums(const Tensor& logits_BTV, const Tensor& labels_BT, const TokenLoss* further) {
  const CrossEntropy ce_BT = softmax_cross_entropy(logits_BTV, labels_BT);
  const Tensor live_BT = labels_BT >= 0;
  const auto sum_of_live = [&](const Tensor& x_BT) { return sum(select(live_BT, x_BT, 0)); };
  LossSums out{.cross_entropy = sum_of_live(ce_BT.loss),
               .squared_log_z = sum_of_live(square(ce_BT.log_z)),
               .hits = sum(hits_of(logits_BTV, labels_BT))};
  if (further) out.further = sum_of_live(further->losses(logits_BTV, further->inputs));
  return out;
}

LossSums chunked_loss_sums(const ChunkHead& head, const Tensor& x_BTD,
                           const std::optional<Tensor>& segment_ids_BT, const Tensor& labels_BT,
                           int64_t chunk_len, const TokenLoss* further) {
  chunk_len = std::min(chunk_len, x_BTD.dim(1));
  Values chunked = {chunks_of(x_BTD, chunk_len, 0), chunks_of(labels_BT, chunk_len, -1)};
  if (segment_ids_BT) chunked.push_back(chunks_of(*segment_ids_BT, chunk_len, 0));
  const size_t first_input = chunked.size();
  if (further) {
    for (const Tensor& x : further->inputs) chunked.push_back(chunks_of(x, chunk_len, 0));
  }
  const auto sums_of_chunk = [&](const Values& v) {
    const Tensor logits = head(v[0], segment_ids_BT ? std::optional(v[2]) : std::nullopt);
    if (!further) {
      LossSums sums = loss_sums(logits, v[1]);
      return tensors_of(sums);
    }
    TokenLoss of_chunk = *further;
    of_chunk.inputs.assign(v.begin() + static_cast<int64_t>(first_input), v.end());
    LossSums sums = loss_sums(logits, v[1], &of_chunk);
    return tensors_of(sums);
  };
  const auto add_chunk = [&](const Values& carry, const Values& chunk) {
    const Values own = remat(sums_of_chunk, chunk, save_nothing(), false);
    ScanResult next;
    for (size_t i = 0; i < carry.size(); ++i) next.carry.push_back(carry[i] + own[i]);
    return next;
  };
  const Tensor zero = zeros({}, wide_dtype(x_BTD.dtype()));
  LossSums out{zero, zero, zero, further ? zero : Tensor()};
  std::vector<std::string> names;
  for (const auto& [name, sum] : named_tensors_of(out)) names.push_back(name);
  const ScanResult sums =
      scan(add_chunk, tensors_of(out), chunked, chunked[0].dim(0), {.names = names});
  auto at = sums.carry.begin();
  replace_tensors(out, at);
  return out;
}

}  // namespace axle
