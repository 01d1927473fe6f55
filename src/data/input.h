// The role Input: where a trainer or an evaluator gets its batches from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/fields/child.h"
#include "data/batch.h"
#include "data/source.h"

namespace axle {

/// What an input found when it was built, for the user to see.
struct InputFacts {
  int64_t num_files = 0;
  int64_t num_documents = 0;
  int64_t num_bytes = 0;  // of text
  int64_t num_tokens = 0;
  int64_t num_rows = 0;          // of one epoch
  bool endless = false;          // next() always gives a batch
  double byte_entropy_bits = 0;  // of the text, order 0, per byte
  Skipped skipped = {};
};
/// "3 files, 12345 bytes, 2 skipped (2 not *.txt)"; empty for data that are no files.
std::string to_text(const InputFacts& facts);

/// Batches in an order that depends on the config and the seed alone, never on the number of hosts;
/// its state is a place in that order, so that a restored input goes on with the very next batch.
class Input {
 public:
  using Role = Input;
  struct Dims {
    /// Size of the model's vocabulary: every id is below it.
    int64_t vocab_size;
    /// Decides the order of the data.
    uint64_t seed;
  };
  virtual ~Input() = default;

  /// Shapes and dtypes of every batch's tensors, over all hosts.
  virtual Tree<Type> element_spec() const = 0;
  /// The next global batch, padded to its full size; none at the end of the data. Throws DataError.
  virtual std::optional<Batch> next() = 0;
  /// Where next() stands: one line of JSON.
  virtual std::string state() const = 0;
  /// Goes to where state() was taken. Throws DataError if that was over other data, or is no state.
  virtual void restore(std::string_view state) = 0;
  virtual InputFacts facts() const { return {}; }
};

}  // namespace axle
