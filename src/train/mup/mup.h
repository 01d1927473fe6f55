// The modifier MuP: makes the hyperparameters of a narrow model right for a wider one.
#pragma once

#include <map>
#include <string>

#include "modifiers/modifier.h"

namespace axle {

/// Compares the model with its base and sets what has to change with the width (mup_scales): a
/// ScaleByPath after the optimizer, the initialiser of output weights, and, where heads grow, the
/// factor `core.scale` of the queries: q k / head dim in place of q k / sqrt(head dim). The rates
/// follow from what the optimizer says of its updates (Optimizer::update_sizes). The report names
/// cores whose factor has no slot of its own.
///
/// A table of embeddings that is the head as well keeps its rate and the size of its vectors, and
/// its logits are divided by the growth of the model (Embedding::attend_scale). If its vectors have
/// a factor that grows, as RootOfDim does, rate, size and logits make up for it.
///
/// Applied a second time it changes nothing.
class MuP final : public Modifier {
 public:
  struct Config {
    /// Fields of the base model that differ from this one, by path:
    /// {"model.decoder.model_dim": "256"}. Its learning rate is the learner's.
    std::map<std::string, std::string> base = {};
    AXLE_CONFIG(MuP, base)
  };
  MuP(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if the two models differ in more than sizes or do not differ at all; if the
  /// tree has no Learner; if an output weight is not drawn by VarianceScaling; if hidden weights
  /// start at a fixed size, whatever their fan; if the head shares the weight of an embedding
  /// without attend_scale; if the optimizer does not say how large its updates are; if gradients
  /// are clipped before updates in proportion to them; and for updates of known singular values of
  /// a table of embeddings.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
