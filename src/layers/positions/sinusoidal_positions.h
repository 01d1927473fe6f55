// Sines and cosines of the position, added to each token.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
#pragma once

#include "layers/positions/position_embedding.h"
#include "layers/positions/rotation.h"

namespace axle {

/// Adds sin(position * frequency) and cos(position * frequency) for D / 2 frequencies to each
/// token. They are computed in f32 and rounded to the dtype of x.
///
/// Throws ConfigError at construction if the model dim is odd.
class SinusoidalPositions final : public PositionEmbedding {
 public:
  struct Config {
    /// Base of the wavelengths.
    Positive<double> theta = 1e4;
    /// Computes the frequencies.
    FrequencyFn frequencies = PlainFrequencies{};
    /// Where sine and cosine of a frequency stand: neighbours, or all sines in the first half.
    PairLayout pairs = PairLayout::kNeighbours;
    AXLE_CONFIG(SinusoidalPositions, theta, frequencies, pairs)
  };
  SinusoidalPositions(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) override;

 private:
  PairLayout pairs_;
  Frequencies frequencies_;
};

}  // namespace axle
