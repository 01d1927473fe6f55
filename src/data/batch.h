// A batch as a model takes it, and rows laid out for a packer to fill.
#pragma once

#include <cstdint>

#include "base/tree.h"
#include "config/scope.h"
#include "data/packing.h"
#include "ir/host_tensor.h"

namespace axle {

/// One global batch of packed rows: "input_ids", "target_labels", "input_segment_ids" and
/// "input_positions", i32[B, T] each. Labels of kIgnoredLabel don't count; segment 0 is padding.
struct Batch {
  Tree<HostTensor> tensors;
  /// Labels that count.
  int64_t num_targets = 0;
  /// Bytes of text that these labels stand for, for losses in bits per byte; 0 where tokens stand
  /// for no text. Whole documents have as many as their files; a part of one has its share.
  double num_target_bytes = 0;
};

/// Throws ConfigError, or Error with kDoesNotFit, with path and bytes, unless this machine's memory
/// holds a batch of that size: inputs ask before they read anything.
void check_batch_size(int64_t batch_size, int64_t seq_len, const Scope& scope);

/// Shapes and dtypes of Batch::tensors.
Tree<Type> batch_spec(int64_t batch_size, int64_t seq_len);
/// All padding.
Batch make_batch(int64_t batch_size, int64_t seq_len);
/// Row i of the batch, to be written.
RowView row_of(Batch& batch, int64_t i);

}  // namespace axle
