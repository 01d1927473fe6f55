// Several biases at once.
#pragma once

#include "layers/attention/biases/logit_bias.h"

namespace axle {

/// Adds all `biases` to the logits. Throws ConfigError at construction if `biases` is empty.
class SumOfBiases final : public LogitBias {
 public:
  struct Config {
    /// The biases to add.
    std::vector<Child<LogitBias>> biases = {};
    AXLE_CONFIG(SumOfBiases, biases)
  };
  SumOfBiases(const Config& cfg, const Dims& dims, const Scope& scope);
  bool is_computed_by_blocks() const override;

 protected:
  Tensor forward(const TokenPlaces& places) override;
  OfBlock after_common_part(int64_t num_rows) override;

 private:
  std::vector<Handle<LogitBias>> biases_;
};

}  // namespace axle
