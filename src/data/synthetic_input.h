// Batches that need no files: for benchmarks, dry runs and tests of recipes without their data.
#pragma once

#include "config/fields.h"
#include "data/batch.h"
#include "data/input.h"

namespace axle {

/// Random tokens that depend only on the seed and the number of the row. Small ids are frequent, so
/// that a model has something to learn. Every row is one segment without padding.
class SyntheticInput final : public Input {
 public:
  struct Config {
    /// Positions in a row.
    Required<Positive<int64_t>> seq_len = REQUIRED;
    /// Rows in a batch, over all hosts.
    Required<Positive<int64_t>> batch_size = REQUIRED;
    /// Number of batches; none: without end.
    std::optional<Positive<int64_t>> num_batches = {};
    /// The prompt of each row, by its share; none: rows have no prompts.
    std::optional<Prompt> prompt = {};
    /// Numbers for the position of each token, as in TextInput; a row is one line.
    std::vector<PositionStream> position_streams = {};
    /// Each row holds two answers, as in a PreferenceInput.
    bool pairs = false;
    AXLE_CONFIG(SyntheticInput, seq_len, batch_size, num_batches, prompt, position_streams, pairs)
  };
  SyntheticInput(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return batch_spec(batch_size_, seq_len_, fields_); }
  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(std::string_view state) override;
  InputFacts facts() const override {
    return {.num_batches = num_batches_.value_or(0), .endless = !num_batches_};
  }

 private:
  uint64_t fingerprint() const;
  int64_t seq_len_, batch_size_;
  BatchFields fields_;
  int64_t prompt_len_;
  StreamRule streams_;
  std::optional<int64_t> num_batches_;
  Dims dims_;
  int64_t next_row_ = 0;
};

}  // namespace axle
