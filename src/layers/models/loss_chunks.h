// How many positions have their logits in memory at once.
#pragma once

#include <optional>
#include <string>

#include "ir/devices/mesh.h"

namespace axle {

/// The positions of each row in chunks of equal length. Where devices share a row, a chunk holds
/// positions of each share, so that all devices work on each chunk.
struct LossChunks {
  int64_t num_chunks = 1;
  /// Rows that are laid end to end and count as one.
  int64_t rows_joined = 1;
  /// Shares of a row, and positions of a chunk in each of them.
  int64_t num_shares = 1, len_of_share = 0;
  /// Logits of a chunk on each device.
  int64_t num_logits = 0;
  /// The field of the config that asks for them; empty: they are the ones that fit.
  std::string asked_by = {};
};

/// A device holds at most this many logits of a chunk, if a position has no more. In f32 they take
/// 256 MiB, and the loss with its gradient up to two and a half times as much.
constexpr int64_t kMaxLogitsOfChunk = int64_t{1} << 26;

/// Returns how many of the logits [B, T, V] each device of `mesh` has.
int64_t logits_of_device(const Shape& btv, const Mesh& mesh);

/// Divides rows so that the logits [B, T, V] of a chunk fit kMaxLogitsOfChunk on each device of
/// `mesh`. Returns nothing if those of all positions fit.
std::optional<LossChunks> fitting_loss_chunks(const Shape& btv, const Mesh& mesh);

/// Divides rows into chunks of at most `chunk_len` positions, as the field `asked_by` says.
LossChunks loss_chunks_of_len(int64_t chunk_len, const Shape& btv, const Mesh& mesh,
                              std::string asked_by);

}  // namespace axle
