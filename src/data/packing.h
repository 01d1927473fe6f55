// Packing: puts documents of any length into rows of one length, so that no position is wasted on
// padding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "config/fields.h"
#include "data/batch.h"
#include "data/input.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// How documents share rows.
enum class Packing {
  kCut,      // without gaps: a row end cuts the document that crosses it
  kWhole,    // a document that does not fit into the rest of a row begins the next one
  kBestFit,  // a document goes where it leaves the smallest gap; one of more than a row is cut
  kPairs,    // two documents after each other, which must fit, have a row
};
constexpr auto texts_of(Packing) {
  return std::to_array<EnumText<Packing>>({{Packing::kCut, "cut"},
                                           {Packing::kWhole, "whole"},
                                           {Packing::kBestFit, "best_fit"},
                                           {Packing::kPairs, "pairs"}});
}

/// What happens to a document that does not fit into a row.
enum class LongDocuments {
  kSplit,     // it goes on in other rows
  kTruncate,  // its first row is kept; with flags, up to the last answer that ends there
  kSkip,      // it is left out
};
constexpr auto texts_of(LongDocuments) {
  return std::to_array<EnumText<LongDocuments>>({{LongDocuments::kSplit, "split"},
                                                 {LongDocuments::kTruncate, "truncate"},
                                                 {LongDocuments::kSkip, "skip"}});
}

/// `count` positions of a document from its position `from` on.
struct RowPart {
  int64_t document = 0;
  int32_t from = 0, count = 0;
  bool operator==(const RowPart&) const = default;
};

/// The parts of rows, row after row.
class PackedRows {
 public:
  int64_t num_rows() const { return std::ssize(begins_) - 1; }
  std::span<const RowPart> row(int64_t i) const;
  int64_t num_bytes() const {
    return static_cast<int64_t>(parts_.capacity() * sizeof(RowPart) +
                                begins_.capacity() * sizeof(int64_t));
  }
  void add_to_row(const RowPart& part) { parts_.push_back(part); }
  void end_row() { begins_.push_back(std::ssize(parts_)); }

 private:
  std::vector<RowPart> parts_;
  std::vector<int64_t> begins_ = {0};
};

/// Packs documents of these numbers of positions, below 2^31, into rows of `seq_len`. Every
/// position is in one row. Documents without positions are in none.
///
/// best_fit sorts the documents by length, the longest first, and puts each into the fullest row
/// that has room for it. Source: Ding et al. 2024, arXiv 2404.10830, section 3.
PackedRows pack_rows(std::span<const int64_t> num_positions, int64_t seq_len, Packing packing);

/// The label of positions without a target.
inline constexpr int32_t kIgnoredLabel = -1;

/// The tokens of all documents, one document after the other.
class TokenizedDocuments {
 public:
  /// Reserves memory for this many tokens, so that growing does not need room for the old and the
  /// new array at once.
  void reserve(int64_t num_tokens) { tokens_.reserve(num_tokens); }
  /// Adds a document, with the special tokens that begin and end one around it. Its first
  /// `prompt_len` tokens are its prompt, to which the begin token belongs if there is one.
  void add(std::span<const int32_t> tokens, const SpecialIds& special = {}, int64_t prompt_len = 0);
  /// Adds a document as it is, of which only some tokens are learned: those whose flag is not 0.
  void add_learned(std::span<const int32_t> tokens, std::span<const uint8_t> is_learned);
  int64_t num_documents() const { return std::ssize(begins_) - 1; }
  int64_t num_tokens() const { return begins_.back(); }
  std::span<const int32_t> document(int64_t i) const;
  /// Number of tokens of its prompt.
  int64_t prompt_len(int64_t i) const { return prompts_[i]; }
  /// A flag for each token of a document; empty: all are learned.
  std::span<const uint8_t> learned(int64_t i) const;
  uint64_t fingerprint() const;

 private:
  std::vector<int32_t> tokens_;
  std::vector<int64_t> begins_ = {0};  // document offsets in tokens_; last: the end
  std::vector<int64_t> prompts_;       // tokens of each document's prompt
  std::vector<uint8_t> learned_;       // a flag for each token, or empty
};

/// One row to fill: spans of seq_len values. prefix_lengths may be empty; position_streams has a
/// value for each stream and position, or none; is_pair has one value, or none.
struct RowView {
  std::span<int32_t> input_ids, target_labels, input_segment_ids, input_positions;
  std::span<int32_t> prefix_lengths = {}, position_streams = {}, is_pair = {};
};

/// The rows of one epoch, with random access by row number.
///
/// A document of n tokens has n - 1 positions: every token but the last is an input, and its
/// label is the token after it. The positions of all documents, one document after the other, are
/// cut into rows. Within a row, segments count from 1, and the part of a document that a row end
/// cuts off starts a new segment in the next row. Positions count from 0 in each segment. The end
/// of the last row is padding: id 0, label kIgnoredLabel, segment 0, position 0.
///
/// With Packing::kWhole and Packing::kBestFit, a document of at most seq_len positions is in one
/// row, and gaps are padding.
///
/// Tokens of a prompt are no labels, nor are those that are not learned. The prefix length of a
/// position is the index in the row at which the prompt of its document ends. Streams of positions
/// begin with each segment.
class RowPacker {
 public:
  /// `order` lists document numbers. `documents` must outlive the packer.
  RowPacker(const TokenizedDocuments& documents, std::vector<int64_t> order, int64_t seq_len,
            StreamRule streams = {}, Packing packing = Packing::kCut);
  int64_t num_rows() const { return rows_.num_rows(); }
  void fill(int64_t row, const RowView& out) const;
  /// Returns the parts of a row, by document numbers.
  std::vector<RowPart> parts(int64_t row) const;

 private:
  const TokenizedDocuments* documents_;
  std::vector<int64_t> order_;
  StreamRule streams_;
  Packing packing_;
  PackedRows rows_;  // of documents by their indices in order_
};

/// Fills positions of a row from `filled` on with a segment: `tokens` has one more, the last label.
/// `segment` counts from 1. Streams have no values without a rule.
void fill_segment(const RowView& out, size_t filled, std::span<const int32_t> tokens,
                  int32_t segment, const StreamRule& streams = {});
/// Fills the row with padding from a position on.
void fill_padding_from(const RowView& out, size_t begin);

/// Notes whether the row holds a pair of answers, if it has a field for that.
void mark_pair(const RowView& out, bool is_pair);
/// Fills the row with padding.
void fill_padding(const RowView& out);

enum class Shuffle {
  kNone,  // documents and rows in their order
  kRows,  // each epoch: documents in a new order, packed; rows in a new order
};
constexpr auto texts_of(Shuffle) {
  return std::to_array<EnumText<Shuffle>>({{Shuffle::kNone, "none"}, {Shuffle::kRows, "rows"}});
}

/// A number of passes over the data. The limit, more than any run makes, catches mistakes.
using NumEpochs = Ranged<int64_t, Bounds{.min = 1, .max = 1'000'000}>;

/// The rows of documents, in an order that depends only on the options and the documents. With
/// Packing::kWhole and Packing::kBestFit, `rows` packs the documents once and shuffles only the
/// rows again. With Packing::kPairs, documents stay in their order, and rows are shuffled.
class PackedBatches {
 public:
  struct Options {
    int64_t seq_len, batch_size;
    BatchFields fields = {};
    StreamRule streams = {};
    Shuffle shuffle = Shuffle::kRows;
    std::optional<int64_t> epochs = {};  // none: without end
    uint64_t seed = 0;
    Packing packing = Packing::kCut;

    /// The options that the fields of an input state.
    template <class Config>
    static Options of(const Config& cfg, uint64_t seed, Packing packing) {
      return {.seq_len = cfg.seq_len,
              .batch_size = cfg.batch_size,
              .fields = {.is_pair = packing == Packing::kPairs},
              .shuffle = cfg.shuffle,
              .epochs = cfg.epochs,
              .seed = seed,
              .packing = packing};
    }
  };
  /// `text_bytes` has the average bytes of text for each token id. `tokenizer` is the fingerprint
  /// of the tokenizer.
  PackedBatches(Options options, TokenizedDocuments documents, std::vector<double> text_bytes,
                uint64_t tokenizer);

  Tree<Type> element_spec() const {
    return batch_spec(options_.batch_size, options_.seq_len, options_.fields);
  }
  /// Returns the number of rows of one epoch. Must be above 0 before next() is called.
  int64_t num_rows() const { return num_rows_; }
  /// Returns the number of batches of all epochs; 0: without end.
  int64_t num_batches() const;
  /// As the role Input has them.
  std::optional<Batch> next();
  std::string state() const;
  void restore(std::string_view state);
  /// `wheres` has the location of each document.
  std::vector<RowOrigin> origins_of_batch(int64_t batch, const std::vector<std::string>& wheres);

 private:
  void enter_epoch(int64_t epoch);
  int64_t end_row() const;

  Options options_;
  TokenizedDocuments documents_;
  std::vector<double> text_bytes_;
  uint64_t fingerprint_ = 0;
  int64_t num_rows_ = 0;  // of one epoch

  int64_t next_row_ = 0;  // counted over all epochs
  int64_t epoch_ = -1;    // epoch of packer_ and row_order_
  std::unique_ptr<RowPacker> packer_;
  std::vector<int64_t> row_order_;
};

}  // namespace axle
