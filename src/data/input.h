// The role Input: the source of batches for trainers and evaluators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/fields.h"
#include "data/batch.h"
#include "data/source.h"

namespace axle {

/// What an input found when it was built, shown to the user.
struct InputFacts {
  int64_t num_files = 0;
  int64_t num_documents = 0;
  int64_t num_bytes = 0;  // bytes of text
  int64_t num_tokens = 0;
  int64_t num_rows = 0;            // rows of one epoch
  int64_t longest = 0;             // positions of its longest conversation or pair; 0: not known
  int64_t num_batches = 0;         // of all epochs; 0: without end, or not known
  bool endless = false;            // next() never ends
  double byte_entropy_bits = 0;    // order-0 entropy of the text, in bits per byte
  int64_t num_without_prompt = 0;  // documents that lack the text that ends a prompt
  int64_t num_truncated = 0;       // documents of which only the first row is used
  Remarks remarks = {};
  Skipped skipped = {};
  /// Token files that do not name their tokenizer: their ids are assumed to be from the model's.
  std::vector<std::string> without_tokenizer = {};
  /// The texts of the chat templates that its conversations are rendered with.
  std::vector<std::string> chat_templates = {};
  /// The marks that these put behind answers, as far as the tokenizer has no token for them.
  std::vector<std::string> spelled_ends = {};
};
/// Writes "3 files, 12345 bytes, 1 document without a prompt, 2 skipped (2 not *.txt)"; "" if the
/// data do not come from files.
std::string to_text(const InputFacts& facts);
/// Counts documents of more than a row, which are left out, or else cut to their first row.
void add_long(InputFacts& facts, int64_t count, bool are_left_out);

/// Positions of a row of a batch that are of one document.
struct RowOrigin {
  int64_t row = 0;    // in the batch
  std::string where;  // "file:line" where the document begins, or "file.bin:number" of a token file
  int64_t from = 0, count = 0;  // positions of the document
};

/// Returns batches in an order that depends only on the config and the seed, never on the number of
/// hosts. The state of an input is a position in that order: a restored input continues with the
/// very next batch.
class Input {
 public:
  using Role = Input;
  struct Dims {
    /// Size of the model's vocabulary. Every token id is below it.
    int64_t vocab_size;
    /// Seed of the order of the data.
    uint64_t seed;
  };
  virtual ~Input() = default;

  /// Returns the shapes and dtypes of the tensors in every global batch (over all hosts).
  virtual Tree<Type> element_spec() const = 0;
  /// Returns the next global batch, padded to its full size; none at the end of the data. Throws
  /// DataError.
  virtual std::optional<Batch> next() = 0;
  /// Returns the position of next() as one line of JSON.
  virtual std::string state() const = 0;
  /// Continues from the position that state() returned. Throws DataError if the state belongs to
  /// other data or is malformed.
  virtual void restore(std::string_view state) = 0;
  virtual InputFacts facts() const { return {}; }
  /// Returns what the rows of a batch are made of, row by row; batches count from 0 at the first of
  /// the data. Empty behind the end of the data, and for inputs without documents.
  virtual std::vector<RowOrigin> origins_of_batch(int64_t) { return {}; }
};

/// The highest row number of any input. Sums of row numbers below it never overflow.
inline constexpr int64_t kMaxRow = int64_t{1} << 62;

/// A state that no input can have written: the stored state is damaged.
struct MalformedState : DataError {
  using DataError::DataError;
};

struct RowPosition {
  /// Number of the next row, counted over all epochs.
  int64_t next_row = 0;
  /// Hash of everything that determines the content of rows.
  uint64_t fingerprint = 0;
};

/// Writes {"fingerprint":"00c0ffee00c0ffee","next_row":12}.
std::string to_json(const RowPosition& position);
/// Returns the next row of `state`, at most kMaxRow. Throws MalformedState, or DataError if the
/// fingerprint of the state is not `fingerprint`.
int64_t restored_row(std::string_view state, uint64_t fingerprint);

/// Hands every call on to the input that the class chooses at its construction.
class ForwardingInput : public Input {
 public:
  Tree<Type> element_spec() const override { return rows_->element_spec(); }
  std::optional<Batch> next() override { return rows_->next(); }
  std::string state() const override { return rows_->state(); }
  void restore(std::string_view state) override { rows_->restore(state); }
  InputFacts facts() const override { return rows_->facts(); }
  /// May read texts in memory once more.
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override {
    return rows_->origins_of_batch(batch);
  }

 protected:
  std::unique_ptr<Input> rows_;
};

}  // namespace axle
