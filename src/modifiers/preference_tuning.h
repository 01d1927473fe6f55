// Direct preference optimization of any language model.
#pragma once

#include "modifiers/modifier.h"

namespace axle {

/// Replaces the model by a PreferenceLM: the policy and the reference are the old model.
/// Where the learner freezes all parameters but some, such as those of adapters, the reference has
/// these alone for itself, as they are at the start: new adapters change nothing. Elsewhere it has
/// all. A reference of a model that is computed with in bf16 is then stored so.
/// Applied twice, the modifier changes nothing more.
class PreferenceTuning final : public Modifier {
 public:
  struct Config {
    /// How much of the reference the policy keeps (PreferenceLM).
    Positive<double> beta = 0.1;
    /// The share of pairs that are taken to be the wrong way round.
    Ranged<double, Bounds{.min = 0, .max = 0.5}> label_smoothing = 0;
    AXLE_CONFIG(PreferenceTuning, beta, label_smoothing)
  };
  PreferenceTuning(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws NoMatch if the tree has no model.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
