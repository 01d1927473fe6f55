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

 protected:
  Tensor forward(const TokenPlaces& places) override;
  OfBlock unchecked_blocks(const TokenPlaces& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPlaces& all) const override;

 private:
  std::vector<Handle<LogitBias>> biases_;
};

}  // namespace axle
