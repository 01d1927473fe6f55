// Language-model batches from documents: source -> tokenizer -> split -> packing -> shuffled rows.
//
// All tokens are held in memory, four bytes each. Corpora that do not fit into memory are not a
// goal.
#pragma once

#include <memory>

#include "base/text/enum_text.h"
#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "data/held_out.h"
#include "data/input.h"
#include "data/packing.h"
#include "data/prompt.h"
#include "data/text_source.h"
#include "data/tokenizers/byte_tokenizer.h"

namespace axle {

enum class Shuffle {
  kNone,  // documents and rows in their order
  kRows,  // each epoch: documents in a new order, packed; rows in a new order
};
constexpr auto texts_of(Shuffle) {
  return std::to_array<EnumText<Shuffle>>({{Shuffle::kNone, "none"}, {Shuffle::kRows, "rows"}});
}

/// Throws ConfigError "<path>.tokenizer: ..." if the tokenizer's vocabulary is larger than the
/// model's.
void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size, std::string_view path);

/// A number of passes over the data. The limit, more than any run makes, catches mistakes.
using NumEpochs = Ranged<int64_t, Bounds{.min = 1, .max = 1'000'000}>;

/// Rows of seq_len positions, packed as RowPacker describes. A document is its begin token, its
/// text and its end token, as far as the tokenizer has them. Without `epochs` the input
/// never ends. With `epochs` it ends after a last, padded batch.
class TextInput final : public Input {
 public:
  struct Config {
    /// Where the text comes from.
    Child<Source> source = TextSource::Config{};
    /// How text becomes token ids.
    Child<Tokenizer> tokenizer = ByteTokenizer::Config{};
    /// Positions in a row.
    Required<Positive<int64_t>> seq_len = REQUIRED;
    /// Rows in a batch, over all hosts.
    Required<Positive<int64_t>> batch_size = REQUIRED;
    /// The order of rows: `rows` shuffles documents and rows anew in each epoch, `none` keeps their
    /// order.
    Shuffle shuffle = Shuffle::kRows;
    /// Passes over the data; none: without end.
    std::optional<NumEpochs> epochs = {};
    /// The part of the documents that this input reads.
    Split split = Split::kAll;
    /// Share of the bytes that the split held_out takes.
    FractionBelowOne held_out_fraction = 0.05;
    /// The prompt of each document, for a PrefixMask: batches then have prefix_lengths, and tokens
    /// of prompts are no targets. None: documents have no prompts.
    std::optional<Prompt> prompt = {};
    /// Numbers for the place of each token, for RoPE with streams: batches then have
    /// position_streams. Empty: no streams.
    std::vector<PositionStream> position_streams = {};
    AXLE_CONFIG(TextInput, source, tokenizer, seq_len, batch_size, shuffle, epochs, split,
                held_out_fraction, prompt, position_streams)
  };
  /// Reads and encodes all of the text. Throws ConfigError if the tokenizer's vocabulary is larger
  /// than the model's, or if `prompt.until` is empty. Throws DataError as the source does, if the
  /// text gives no position with a label, or if no document has the end of a prompt.
  TextInput(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return batch_spec(batch_size_, seq_len_, fields_); }
  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(std::string_view state) override;
  InputFacts facts() const override { return facts_; }

 private:
  void read(const Config& cfg, const Tokenizer& tokenizer, const Scope& scope);
  // Returns the ids of the document's text.
  std::vector<int32_t> add(const Document& document, const Tokenizer& tokenizer, const Config& cfg);
  void enter_epoch(int64_t epoch);

  int64_t seq_len_, batch_size_;
  BatchFields fields_;
  StreamRule streams_;
  Shuffle shuffle_;
  std::optional<int64_t> epochs_;
  uint64_t seed_;
  std::vector<double> text_bytes_;  // average bytes of text per token id
  TokenizedDocuments documents_;
  InputFacts facts_;
  int64_t num_learned_ = 0;  // tokens of text behind the prompts
  uint64_t fingerprint_ = 0;
  int64_t num_rows_ = 0;  // of one epoch

  int64_t next_row_ = 0;  // counted over all epochs
  int64_t epoch_ = -1;    // epoch of packer_ and row_order_
  std::unique_ptr<RowPacker> packer_;
  std::vector<int64_t> row_order_;
};

}  // namespace axle
