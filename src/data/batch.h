// Batches as a model takes them, and the rows that a packer fills.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "base/tree.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "data/tokenizers/tokenizer.h"
#include "ir/host_tensor.h"

namespace axle {

struct RowView;

/// The tensors of a batch beside those that every batch has.
struct BatchFields {
  /// "prefix_lengths" i32[B, T]: the index in the row at which the prompt of a token's document
  /// ends.
  bool prefix_lengths = false;
  /// Size of the last dim of "position_streams" i32[B, T, n]; 0: no such tensor.
  int64_t num_streams = 0;
  /// "is_pair" i32[B]: 1 for rows of two answers, of which segment 1 is the better one; else 0.
  bool is_pair = false;
};

/// One global batch of packed rows: "input_ids", "target_labels", "input_segment_ids" and
/// "input_positions", each i32[B, T], and the tensors of BatchFields. Labels equal to kIgnoredLabel
/// don't count. Segment 0 is padding.
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

// Streams of positions: several numbers for the position of each token (M-RoPE,
// RoPE::Config::streams).

/// A number for each token of a text, from 0 on: the tokens before it, the line breaks before it,
/// and the tokens since the last line break. A line break is a newline in the piece of a token.
enum class PositionStream { kToken, kLine, kColumn };
constexpr auto texts_of(PositionStream) {
  return std::to_array<EnumText<PositionStream>>({{PositionStream::kToken, "token"},
                                                  {PositionStream::kLine, "line"},
                                                  {PositionStream::kColumn, "column"}});
}

/// The streams of an input, and what they need to know of the tokens.
struct StreamRule {
  std::vector<PositionStream> streams = {};
  /// Line breaks in the piece of each token id; ids beyond them have none.
  std::vector<int32_t> line_breaks = {};

  /// Writes the numbers of all streams for each token of one text: `out` has ids.size() times the
  /// number of streams.
  void fill(std::span<const int32_t> ids, std::span<int32_t> out) const;
};

/// Returns the rule for texts of a tokenizer; without streams, an empty one.
StreamRule stream_rule(std::vector<PositionStream> streams, const Tokenizer& tokenizer);

// The prompts of documents, for prefix language models: every token sees all of the prompt, and
// only the text after it is learned.

/// Says which part of each document, from its beginning, is its prompt. A begin token belongs to
/// it.
struct Prompt {
  /// The text that ends the prompt, as its last part; documents without it have no prompt. None:
  /// `share` counts.
  std::optional<std::string> until = {};
  /// Share of the tokens of a document, rounded down.
  Fraction share = 0.5;
  AXLE_CONFIG(Prompt, until, share)

  /// Returns the number of bytes of the text's prompt; none: `share` counts.
  std::optional<size_t> bytes_of(std::string_view text) const;
  /// Returns the share of `num_tokens`.
  int64_t share_of(int64_t num_tokens) const;
};

}  // namespace axle
