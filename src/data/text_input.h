// Language-model batches from documents: source -> tokenizer -> split -> packing -> shuffled rows.
//
// All tokens are held in memory, four bytes each. TokenInput reads corpora that do not fit.
#pragma once

#include <functional>
#include <memory>

#include "config/fields/required.h"
#include "data/held_out.h"
#include "data/input.h"
#include "data/packed_batches.h"
#include "data/prompt.h"
#include "data/text_source.h"
#include "data/tokenizers/byte_tokenizer.h"

namespace axle {

/// Throws ConfigError "<path>.tokenizer: ..." if the tokenizer's vocabulary is larger than the
/// model's.
void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size, std::string_view path);

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

  Tree<Type> element_spec() const override { return batches_->element_spec(); }
  std::optional<Batch> next() override { return batches_->next(); }
  std::string state() const override { return batches_->state(); }
  void restore(std::string_view state) override { batches_->restore(state); }
  InputFacts facts() const override { return facts_; }
  /// Reads the text once more.
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override;

 private:
  // Reads the text and returns its tokens; sets text_bytes_ and facts_.
  TokenizedDocuments read(const Config& cfg, const Tokenizer& tokenizer, const Scope& scope);
  // Returns the ids of the document's text.
  std::vector<int32_t> add(TokenizedDocuments& documents, const Document& document,
                           const Tokenizer& tokenizer, const Config& cfg);

  std::function<std::vector<std::string>()> read_wheres_;  // the place of each document
  std::vector<double> text_bytes_;                         // average bytes of text per token id
  InputFacts facts_;
  int64_t num_learned_ = 0;  // tokens of text behind the prompts
  std::unique_ptr<PackedBatches> batches_;
};

}  // namespace axle
