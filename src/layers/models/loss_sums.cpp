#include "layers/models/loss_sums.h"

#include <algorithm>
#include <utility>

#include "layers/mesh_axes.h"
#include "nn/tensor_tree.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

int64_t ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }

// How the logits [B, T, V] are shared among the devices.
struct Shares {
  int64_t rows, positions, classes;
};
Shares shares_of(const Shape& btv, const Mesh& mesh) {
  const PartitionSpec axes = restrict(kTokenPartsAxes, btv, mesh);
  return {num_parts(axes.dims[0], mesh), num_parts(axes.dims[1], mesh),
          num_parts(axes.dims[2], mesh)};
}

// Divides rows of `num_positions` into shares. A device has `of_position` logits of each.
LossChunks divided(int64_t num_chunks, int64_t num_positions, int64_t num_shares,
                   int64_t of_position) {
  const int64_t of_share = num_positions / num_shares;
  const int64_t len = std::max<int64_t>(ceil_div(of_share, std::max<int64_t>(num_chunks, 1)), 1);
  return {.num_chunks = ceil_div(of_share, len),
          .num_shares = num_shares,
          .len_of_share = len,
          .num_logits = len * of_position};
}

// Returns the least divisor of n that is at least `least`.
int64_t divisor_from(int64_t least, int64_t n) {
  while (least < n && n % least != 0) ++least;
  return std::min(least, n);
}

}  // namespace

int64_t logits_of_device(const Shape& btv, const Mesh& mesh) {
  const Shares shares = shares_of(btv, mesh);
  return btv[0] / shares.rows * (btv[1] / shares.positions) * (btv[2] / shares.classes);
}

std::optional<LossChunks> fitting_loss_chunks(const Shape& btv, const Mesh& mesh) {
  if (logits_of_device(btv, mesh) <= kMaxLogitsOfChunk) return std::nullopt;
  const Shares shares = shares_of(btv, mesh);
  const int64_t rows = btv[0] / shares.rows, classes = btv[2] / shares.classes;
  int64_t joined = 1;
  if (shares.positions == 1)
    joined = divisor_from(std::min(ceil_div(rows * classes, kMaxLogitsOfChunk), rows), rows);
  const int64_t of_position = rows / joined * classes;
  const int64_t positions = btv[1] * joined, of_share = positions / shares.positions;
  int64_t num_chunks = ceil_div(of_share, std::max<int64_t>(kMaxLogitsOfChunk / of_position, 1));
  // A few chunks more are better than padding.
  const int64_t even = divisor_from(num_chunks, of_share);
  if (even <= 2 * num_chunks) num_chunks = even;
  LossChunks out = divided(num_chunks, positions, shares.positions, of_position);
  out.rows_joined = joined;
  return out;
}

LossChunks loss_chunks_of_len(int64_t chunk_len, const Shape& btv, const Mesh& mesh,
                              std::string asked_by) {
  const Shares all = shares_of(btv, mesh);
  const int64_t shares = chunk_len < all.positions ? 1 : all.positions;
  LossChunks out = divided(ceil_div(btv[1] / shares, chunk_len / shares), btv[1], shares,
                           btv[0] / all.rows * (btv[2] / all.classes));
  out.asked_by = std::move(asked_by);
  return out;
}

namespace {

// x[B, T, ..] -> [C, B, t, ..], with `fill` after the end of each share of a row.
Tensor chunks_of(const Tensor& x, const LossChunks& chunks, double fill) {
  const Tensor rows =
      chunks.rows_joined > 1 ? flatten(unflatten(x, 0, {-1, chunks.rows_joined}), 1, 2) : x;
  const Tensor shares = unflatten(rows, 1, {chunks.num_shares, rows.dim(1) / chunks.num_shares});
  const int64_t missing = chunks.num_chunks * chunks.len_of_share - shares.dim(2);
  const Tensor padded = missing > 0 ? pad_in_dim(shares, 2, 0, missing, fill) : shares;
  const Tensor parts = unflatten(padded, 2, {chunks.num_chunks, chunks.len_of_share});
  return flatten(move_axis(parts, 2, 0), 2, 3);
}

// x[C, B, t, ..] -> [B, T, ..]: takes chunks_of() back.
Tensor joined(const Tensor& x, const LossChunks& chunks, int64_t num_positions) {
  const Tensor parts = move_axis(unflatten(x, 2, {chunks.num_shares, chunks.len_of_share}), 0, 2);
  const Tensor padded = flatten(parts, 2, 3);
  const int64_t of_row = num_positions * chunks.rows_joined;
  const Tensor rows = flatten(slice_in_dim(padded, 2, 0, of_row / chunks.num_shares), 1, 2);
  return chunks.rows_joined > 1
             ? flatten(unflatten(rows, 1, {chunks.rows_joined, num_positions}), 0, 1)
             : rows;
}

// What a chunk is computed from, along the leading dim of each value.
Values chunked_values(const Tensor& x_BTD, const Tensor& labels_BT,
                      const std::optional<Tensor>& segment_ids_BT, const LossChunks& chunks) {
  Values out = {chunks_of(x_BTD, chunks, 0), chunks_of(labels_BT, chunks, -1)};
  if (segment_ids_BT) out.push_back(chunks_of(*segment_ids_BT, chunks, 0));
  return out;
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

ChunkedLossSums chunked_loss_sums(const ChunkHead& head, const Tensor& x_BTD,
                                  const std::optional<Tensor>& segment_ids_BT,
                                  const Tensor& labels_BT, const LossChunks& chunks,
                                  const TokenLoss* further) {
  Values chunked = chunked_values(x_BTD, labels_BT, segment_ids_BT, chunks);
  const auto first_input = std::ssize(chunked);
  if (further) {
    for (const Tensor& x : further->inputs) chunked.push_back(chunks_of(x, chunks, 0));
  }
  const Tensor zero = zeros({}, wide_dtype(x_BTD.dtype()));
  LossSums sums{zero, zero, zero, further ? zero : Tensor()};
  const size_t num_sums = tensors_of(sums).size();
  // Returns the sums of the chunk, then what is kept of it.
  const auto of_chunk = [&](const Values& v) {
    const Values results = head(v[0], segment_ids_BT ? std::optional(v[2]) : std::nullopt);
    std::optional<TokenLoss> own;
    if (further) {
      own = *further;
      own->inputs.assign(v.begin() + first_input, v.end());
    }
    LossSums own_sums = loss_sums(results[0], v[1], own ? &*own : nullptr);
    Values out = tensors_of(own_sums);
    out.insert(out.end(), results.begin() + 1, results.end());
    return out;
  };
  const auto add_chunk = [&](const Values& carry, const Values& chunk) {
    const Values own = remat(of_chunk, chunk, save_nothing(), false);
    ScanResult next;
    for (size_t i = 0; i < num_sums; ++i) next.carry.push_back(carry[i] + own[i]);
    next.ys.assign(own.begin() + static_cast<int64_t>(num_sums), own.end());
    return next;
  };
  std::vector<std::string> names;
  for (const auto& [name, sum] : named_tensors_of(sums)) names.push_back(name);
  const ScanResult all =
      scan(add_chunk, tensors_of(sums), chunked, chunks.num_chunks, {.names = names});
  auto at = all.carry.begin();
  replace_tensors(sums, at);
  return {std::move(sums), all.ys};
}

ChunkedCrossEntropy chunked_cross_entropy(const ChunkHead& head, const Tensor& x_BTD,
                                          const std::optional<Tensor>& segment_ids_BT,
                                          const Tensor& labels_BT, const LossChunks& chunks) {
  const auto of_chunk = [&](const Values& v) {
    Values out = head(v[0], segment_ids_BT ? std::optional(v[2]) : std::nullopt);
    out[0] = softmax_cross_entropy(out[0], v[1]).loss;
    return out;
  };
  const auto next_chunk = [&](const Values&, const Values& chunk) {
    return ScanResult{.carry = {}, .ys = remat(of_chunk, chunk, save_nothing(), false)};
  };
  Values all = scan(next_chunk, {}, chunked_values(x_BTD, labels_BT, segment_ids_BT, chunks),
                    chunks.num_chunks)
                   .ys;
  const Tensor losses_BT = joined(all[0], chunks, labels_BT.dim(1));
  all.erase(all.begin());
  return {losses_BT, std::move(all)};
}

}  // namespace axle
