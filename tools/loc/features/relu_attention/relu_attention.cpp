// An attention core that the library lacks.
//
// Source: Wortsman et al. 2023, "Replacing softmax with ReLU in Vision Transformers", arXiv
//   2309.08586, section 3.
#include "world/experiment.h"

using namespace axle;

/// y = relu(logits) v / length: the weight of a key does not depend on other keys, and may be 0.
class ReluAttention final : public ScoredCore {
 public:
  struct Config {
    /// Factor of the queries; none: 1 / sqrt(head dim).
    std::optional<Positive<double>> scale = {};
    /// Learned factor of each element of a head; none: no such factor.
    std::optional<Child<PerDimScale>> per_dim_scale = {};
    /// Logits become cap * tanh(logits / cap); none: no cap.
    std::optional<Positive<double>> logit_cap = {};
    /// Dropout on the weights; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// What the weights are divided by.
    Positive<double> length = 1;
    AXLE_CONFIG(ReluAttention, scale, per_dim_scale, logit_cap, dropout, length)
  };
  ReluAttention(const Config& cfg, const Dims& dims, const Scope& scope)
      : ScoredCore(cfg, dims, scope), length_(cfg.length) {}

 protected:
  Tensor weights(const Tensor& logits, const HeadGroups&, DType result) override {
    return astype(relu(logits) / length_, result);
  }

 private:
  double length_;
};
AXLE_REGISTER(ReluAttention)

void add_relu_attention(ConfigRef world) {
  replace_config<AttentionCore>(world, ReluAttention::Config{.length = 6});
}
AXLE_REGISTER(add_relu_attention, "relu_attention")
