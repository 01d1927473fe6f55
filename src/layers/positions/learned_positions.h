// A learned vector for each position.
//
// Source: Gehring et al. 2017, arXiv 1705.03122, section 3.1; GPT-2, BERT.
#pragma once

#include "layers/positions/position_embedding.h"

namespace axle {

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

}  // namespace axle
