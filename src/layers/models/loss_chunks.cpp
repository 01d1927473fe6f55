#include "layers/models/loss_chunks.h"

#include <algorithm>

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

LossChunks divided(int64_t num_chunks, int64_t num_positions, int64_t num_shares) {
  const int64_t of_share = num_positions / num_shares;
  const int64_t len = std::max<int64_t>(ceil_div(of_share, std::max<int64_t>(num_chunks, 1)), 1);
  return {.num_chunks = ceil_div(of_share, len), .num_shares = num_shares, .len_of_share = len};
}

}  // namespace

std::optional<LossChunks> fitting_loss_chunks(const Shape& btv, const Mesh& mesh) {
  const Shares shares = shares_of(btv, mesh);
  const int64_t of_position = btv[0] / shares.rows * (btv[2] / shares.classes);
  const int64_t of_share = btv[1] / shares.positions;
  const int64_t fitting = std::max<int64_t>(kMaxLogitsOfChunk / of_position, 1);
  if (of_share <= fitting) return std::nullopt;

  int64_t num_chunks = ceil_div(of_share, fitting);
  // A few chunks more are better than padding.
  for (int64_t n = num_chunks; n <= std::min(2 * num_chunks, of_share); ++n) {
    if (of_share % n != 0) continue;
    num_chunks = n;
    break;
  }
  return divided(num_chunks, btv[1], shares.positions);
}

LossChunks loss_chunks_of_len(int64_t chunk_len, const Shape& btv, const Mesh& mesh) {
  const int64_t all = shares_of(btv, mesh).positions;
  const int64_t shares = chunk_len < all ? 1 : all;
  return divided(ceil_div(btv[1] / shares, chunk_len / shares), btv[1], shares);
}

}  // namespace axle
