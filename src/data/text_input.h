// Language-model batches from documents: source -> tokenizer -> split -> packing -> shuffled rows.
//
// The tokens of a small text are held in memory, four bytes each; tokens of a larger one are in a
// token file, which is made once (token_files/streamed_text.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/fields.h"
#include "data/batch.h"
#include "data/held_out.h"
#include "data/input.h"
#include "data/packing.h"
#include "data/text_source.h"
#include "data/tokenizers/byte_tokenizer.h"

namespace axle {

/// Throws ConfigError "<path>.tokenizer: ..." if the tokenizer's vocabulary is larger than the
/// model's.
void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size, std::string_view path);

/// Rows of seq_len positions, packed as RowPacker describes. A document is its begin token, its
/// text and its end token, as far as the tokenizer has them. Without `epochs` the input
/// never ends. With `epochs` it ends after a last, padded batch.
class TextInput final : public ForwardingInput {
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
    /// The order of rows: `rows` shuffles documents and rows again in each epoch, `none` keeps
    /// their order.
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
    /// Numbers for the position of each token, for RoPE with streams: batches then have
    /// position_streams. Empty: no streams.
    std::vector<PositionStream> position_streams = {};
    /// How documents share rows: `cut` without gaps, `whole` one after the other with gaps,
    /// `best_fit` where the gaps are smallest. With gaps, `shuffle` packs the documents once and
    /// only the rows again in each epoch.
    Packing packing = Packing::kCut;
    /// What happens to a document of more than seq_len positions: `split` goes on in other rows,
    /// `truncate` keeps its first row, `skip` leaves it out.
    LongDocuments long_documents = LongDocuments::kSplit;
    /// Texts of more bytes are encoded once into a token file in the user's cache folder and read
    /// from there, with the order and the split of a TokenInput; texts of a CorpusSource at any
    /// size. Text with prompts or streams of positions is always held in memory.
    Positive<int64_t> memory_bytes = 32 << 20;
    AXLE_CONFIG(TextInput, source, tokenizer, seq_len, batch_size, shuffle, epochs, split,
                held_out_fraction, prompt, position_streams, packing, long_documents, memory_bytes)
  };
  /// Reads and encodes all of the text, unless its tokens are there already. Throws ConfigError if
  /// the tokenizer's vocabulary is larger than the model's, if `prompt.until` is empty, or for the
  /// packing `pairs`. Throws DataError as the source does, if the text has no position with a
  /// label, or if no document has the end of a prompt.
  TextInput(const Config& cfg, const Dims& dims, const Scope& scope);
};

/// The rows of a TextInput of little text.
class TextInMemory final : public Input {
 public:
  /// Throws as TextInput does.
  TextInMemory(const TextInput::Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return batches_->element_spec(); }
  std::optional<Batch> next() override { return batches_->next(); }
  std::string state() const override { return batches_->state(); }
  void restore(std::string_view state) override { batches_->restore(state); }
  InputFacts facts() const override { return facts_; }
  /// Reads the text once more.
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override;

 private:
  // Reads the text and returns its tokens; sets text_bytes_ and facts_.
  TokenizedDocuments read(const TextInput::Config& cfg, const Tokenizer& tokenizer,
                          const Scope& scope);
  // Returns the ids of the document's text.
  std::vector<int32_t> add(TokenizedDocuments& documents, const Document& document,
                           const Tokenizer& tokenizer, const TextInput::Config& cfg);

  std::function<std::vector<std::string>()> read_wheres_;  // the location of each document
  std::vector<double> text_bytes_;                         // average bytes of text per token id
  InputFacts facts_;
  int64_t num_learned_ = 0;  // tokens of text behind the prompts
  int64_t num_long_ = 0;     // documents of more than a row that are not split
  std::unique_ptr<PackedBatches> batches_;
};

}  // namespace axle
