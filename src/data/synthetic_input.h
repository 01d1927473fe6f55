// Batches that need no file: for benchmarks, dry runs and tests of recipes whose data are not at
// hand.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "data/input.h"

namespace axle {

/// Random tokens that depend on the seed and the row's number alone; small ids are frequent, so
/// that a model has something to learn. Every row is one segment without padding.
class SyntheticInput final : public Input {
 public:
  struct Config {
    /// Positions of a row.
    Required<Positive<int64_t>> seq_len = REQUIRED;
    /// Rows of a batch, over all hosts.
    Required<Positive<int64_t>> batch_size = REQUIRED;
    /// Batches until the end; none: without end.
    std::optional<Positive<int64_t>> num_batches = {};
    AXLE_CONFIG(SyntheticInput, seq_len, batch_size, num_batches)
  };
  SyntheticInput(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return batch_spec(batch_size_, seq_len_); }
  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(std::string_view state) override;
  InputFacts facts() const override { return {.endless = !num_batches_}; }

 private:
  uint64_t fingerprint() const;
  int64_t seq_len_, batch_size_;
  std::optional<int64_t> num_batches_;
  Dims dims_;
  int64_t next_row_ = 0;
};

}  // namespace axle
