// Embeddings of positions: learned and sinusoidal.
#pragma once

#include "config/fields.h"
#include "layers/positions/rotation.h"
#include "nn/layer.h"

namespace axle {

// The role PositionEmbedding: adds a vector for its position to each embedded token.
//
// Letters in tensor names from here on:
//   B batch   T positions   D model dim

/// A number of positions. The bound is that of i32, the dtype of positions.
using NumPositions = Ranged<int64_t, Bounds{.min = 1, .max = 2147483647}>;

/// x_BTD -> x_BTD plus the vectors of its positions, dtype of x. Positions are i32[B, T]; none
/// means 0, 1, ... in each row.
class PositionEmbedding
    : public LayerRole<PositionEmbedding,
                       Tensor(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT)> {
 public:
  /// The sizes of the sequence, given by the decoder.
  struct Dims {
    /// Size of a vector.
    Positive<int64_t> model_dim;
    /// Longest sequence; none: not known.
    std::optional<NumPositions> max_seq_len;
    AXLE_CONFIG(Dims, model_dim, max_seq_len)
  };
  static constexpr InputNames kInputs = {"x", "positions"};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
  /// A vector depends on its position alone.
  bool can_decode() const override { return true; }
};

extern template class LayerRole<PositionEmbedding, PositionEmbedding::Signature>;

// A learned vector for each position.
//
// Source: Gehring et al. 2017, arXiv 1705.03122, section 3.1; GPT-2, BERT.

/// Adds weight[position] to each token. Positions outside the table are clamped to it.
///
/// Parameters: weight[num_positions, D].
/// Throws ConfigError at construction if the decoder has no max_seq_len, or a longer one than there
/// are positions; ShapeError if T > num_positions.
class LearnedPositions final : public PositionEmbedding {
 public:
  struct Config {
    /// Number of positions; none: max_seq_len of the decoder.
    std::optional<NumPositions> num_positions = {};
    /// Initialiser of the weight; the option @init of slots does not apply.
    Init init =
        VarianceScaling{.scale = 0.02, .fan = Fan::kNone, .distribution = Distribution::kNormal};
    AXLE_CONFIG(LearnedPositions, num_positions, init)
  };
  LearnedPositions(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) override;

 private:
  int64_t num_positions(const Config& cfg, const Dims& dims) const;
  int64_t num_positions_;
  Param weight_;
};

// Sines and cosines of positions.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.

/// Returns sin(position * frequency) as the first element and cos(position * frequency) as the
/// second element of each pair, f32 [.., 2P], of positions [..] (integers).
Tensor sinusoids(const Tensor& positions, const Frequencies& frequencies, PairLayout layout);

// Sines and cosines of the position, added to each token.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.

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
