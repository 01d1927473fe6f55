// Batches as a model takes them, and the rows that a packer fills.
#pragma once

#include <cstdint>
#include <span>

#include "base/tree.h"
#include "config/scope.h"
#include "ir/host_tensor.h"

namespace axle {

struct RowView;

/// The tensors of a batch beside those that every batch has.
struct BatchFields {
  /// "prefix_lengths" i32[B, T]: the place of the row at which the prompt of a token's document
  /// ends.
  bool prefix_lengths = false;
  /// Size of the last dim of "position_streams" i32[B, T, n]; 0: no such tensor.
  int64_t num_streams = 0;
  /// "is_pair" i32[B]: 1 for rows of two answers, of which segment 1 is the better one; else 0.
  bool is_pair = false;
};

/// One global batch of packed rows: "input_ids", "target_labels", "input_segment_ids" and
/// "input_positions", each i32[B, T], and those of BatchFields. Labels equal to kIgnoredLabel don't
/// count. Segment 0 is padding.
struct Batch {
  Tree<HostTensor> tensors;
  /// Number of labels that count.
  int64_t num_targets = 0;
  /// Bytes of text behind these labels, for losses in bits per byte; 0 if tokens do not stand for
  /// text. Each label counts the bytes of its piece, scaled so that the pieces of the whole corpus
  /// add up to its text.
  double num_target_bytes = 0;
};

/// Throws unless this machine's memory can hold a batch of this size: ConfigError if its bytes
/// overflow 64 bits, else Error with kDoesNotFit. The message names the config path and the bytes.
/// Inputs call it before they read data.
void check_batch_size(int64_t batch_size, int64_t seq_len, const Scope& scope,
                      const BatchFields& fields = {});

/// Returns the shapes and dtypes of Batch::tensors.
Tree<Type> batch_spec(int64_t batch_size, int64_t seq_len, const BatchFields& fields = {});
/// Returns a batch that is all padding.
Batch make_batch(int64_t batch_size, int64_t seq_len, const BatchFields& fields = {});
/// Returns row i of the batch, for writing.
RowView row_of(Batch& batch, int64_t i);
/// Counts the labels of a filled row. `text_bytes` has the average bytes of text for each token id.
void count_targets(Batch& batch, const RowView& row, std::span<const double> text_bytes);
/// Returns the number of positions outside of padding, or of labels that count if the batch has no
/// segments.
int64_t num_real_positions(const Batch& batch);

}  // namespace axle
