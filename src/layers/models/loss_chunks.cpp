#include "layers/models/loss_chunks.h"

#include <algorithm>
#include <utility>

#include "layers/mesh_axes.h"

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

// Divides rows of `num_positions` in so many shares. A device has `of_position` logits of each.
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

}  // namespace axle
