// Batches of packed rows from tokens in memory, epoch by epoch: what inputs of text share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "config/fields.h"
#include "data/batch.h"
#include "data/input.h"
#include "data/packing.h"

namespace axle {

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
