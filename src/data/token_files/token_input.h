// Language-model batches from token files of any size.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/fields.h"
#include "data/chat/learned_text.h"
#include "data/input.h"
#include "data/mixture.h"
#include "data/packing.h"
#include "data/source.h"
#include "data/text_source.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/token_rows.h"
#include "data/tokenizers/byte_tokenizer.h"

namespace axle {

/// One token file of an input, or files that become one in the user's cache folder.
struct TokenSource {
  /// PREFIX.idx, PREFIX.bin or PREFIX of a token file; or a file, a folder or a pattern of texts,
  /// JSON Lines or Parquet, conversations and pairs of answers too, which are encoded once.
  Required<std::string> path = REQUIRED;
  /// Share of the rows, relative to the other sources; at most six decimals. None for all of them:
  /// the rows of all sources are one set.
  std::optional<Positive<double>> weight = {};
  /// Passes over this source, of a mixture by weights; none: as many as the input's `epochs`.
  std::optional<NumEpochs> epochs = {};
  /// Uses only this many documents, the first of the split; none: all.
  std::optional<Positive<int64_t>> max_documents = {};
  /// How its documents share rows; none: as the input says.
  std::optional<Packing> packing = {};
  /// What happens to its documents of more than a row; none: as the input says.
  std::optional<LongDocuments> long_documents = {};
  /// Of texts in records: the field or the column that holds the text; none: `text`.
  std::optional<std::string> field = {};
  /// Of plain text: what one document is; none: `file`.
  std::optional<DocumentUnit> unit = {};
  /// What a bad document of texts or conversations does: `fail` ends the program, `skip` leaves it
  /// out and counts it.
  OnError on_error = OnError::kFail;
  /// The chat template of conversations, as ChatInput has it.
  std::optional<std::string> chat_template = {};
  /// Which tokens of conversations are targets; none: `assistant`.
  std::optional<Learned> learned = {};
  AXLE_CONFIG(TokenSource, path, weight, epochs, max_documents, packing, long_documents, field,
              unit, on_error, chat_template, learned)
};

/// Rows of seq_len positions from token files, which are read as they are needed. Documents stand
/// in the files with the ids that begin and end them. A document of n tokens has n - 1 positions;
/// several in a row are segments that do not see each other.
///
/// With weights, row by row comes from the source that is due (Mixture): over any number of rows
/// from the first on, each source has its share to within one row. A source that is used up leaves
/// its share to the others.
///
/// Rows depend on the files, the config and the seed alone; any row is found without those before
/// it. Memory: a batch, and for each source what TokenRows takes.
class TokenInput final : public Input {
 public:
  struct Config {
    /// The token files, or files that become one, each with a name of its own.
    NamedMap<TokenSource> sources = {};
    /// The tokenizer that made the ids. One that encodes otherwise than the one that the card of a
    /// token file names is refused.
    Child<Tokenizer> tokenizer = ByteTokenizer::Config{};
    /// Positions in a row.
    Required<Positive<int64_t>> seq_len = REQUIRED;
    /// Rows in a batch, over all hosts.
    Required<Positive<int64_t>> batch_size = REQUIRED;
    /// The order of rows: `rows` packs the documents in a seeded order and shuffles the rows again
    /// in each epoch, `none` keeps the order of the files.
    Shuffle shuffle = Shuffle::kRows;
    /// Passes over the data; none: without end.
    std::optional<NumEpochs> epochs = {};
    /// The part of the documents that this input reads.
    Split split = Split::kAll;
    /// Share of the documents that the split held_out takes.
    FractionBelowOne held_out_fraction = 0.05;
    /// How documents share rows: `cut` without gaps, `whole` one after the other with gaps,
    /// `best_fit` where the gaps are smallest; `pairs` of answers have a row each, and longer ones
    /// are left out.
    Packing packing = Packing::kCut;
    /// What happens to a document of more than seq_len positions: `split` goes on in other rows,
    /// `truncate` keeps its first row, `skip` leaves it out.
    LongDocuments long_documents = LongDocuments::kSplit;
    AXLE_CONFIG(TokenInput, sources, tokenizer, seq_len, batch_size, shuffle, epochs, split,
                held_out_fraction, packing, long_documents)
  };
  /// Throws ConfigError without a source, if only some have a weight, and if the tokenizer's
  /// vocabulary is larger than the model's. Throws DataError as TokenRows does, and for a tokenizer
  /// that does not belong to a file. Throws as tokens_of_source() does for files of text.
  TokenInput(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return batch_spec(batch_size_, seq_len_, fields_); }
  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(std::string_view state) override;
  InputFacts facts() const override { return facts_; }
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override;

 private:
  struct Source {
    std::string name;
    std::unique_ptr<TokenRows> rows;
    std::vector<double> text_bytes = {};  // of each id
  };
  struct SourceRow {
    size_t source = 0;
    int64_t row = 0;  // of TokenRows
  };
  void open(const Config& cfg, const Dims& dims, const Tokenizer& tokenizer, const Scope& scope);
  void mix(const Config& cfg, const Scope& scope);
  SourceRow source_row(int64_t row);
  int64_t num_rows() const;

  int64_t seq_len_, batch_size_;
  BatchFields fields_;
  bool is_shuffled_;
  uint64_t seed_;
  std::vector<Source> sources_;
  std::vector<int64_t> rows_before_ = {0};  // of each source, then all; without weights
  std::unique_ptr<Mixture> mixture_;        // with weights
  std::optional<int64_t> epochs_;
  uint64_t fingerprint_ = 0;
  InputFacts facts_;
  int64_t next_row_ = 0;  // counted over all epochs
};

/// Returns how the documents of one of the input's sources share rows.
Packing packing_of(const TokenSource& source, const TokenInput::Config& input);
/// Returns how many of the sources provide rows of pairs of answers.
int64_t num_sources_of_pairs(const TokenInput::Config& input);

/// Makes the token file of a source in the user's cache folder, or finds it there; none if the
/// source names a token file. A CorpusSource or a ChatSource reads the files: the kind of data
/// (data_kind_at) says which. `tokenizer` is that of the input.
///
/// Throws ConfigError, with `where`, for fields of another kind of files. Throws as
/// tokens_of_text() and tokens_of_chat() do.
std::optional<MadeTokens> tokens_of_source(const TokenSource& source,
                                           const Child<Tokenizer>& tokenizer,
                                           const Input::Dims& dims, const std::string& where);

}  // namespace axle
