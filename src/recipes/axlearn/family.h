// What the recipes Gala, Honeycrisp and Envy share: layers with norms of queries and keys, and
// learning rates that fall with the width of the model (mup-simple).
//
// Source: Wortsman et al. 2023, arXiv 2309.14322, sections 3.1 and 3.2.4; apple/axlearn,
//   experiments/text/gpt/common.py.
#pragma once

#include "layers/attention/attention.h"
#include "layers/models/embedding.h"
#include "learn/optimizer_groups.h"
#include "learn/optimizers/adam.h"
#include "train/config/trainer_config.h"

namespace axle {

/// An embedding that is sharded over the dims of both.
Child<TokenEmbedding> sharded_embedding();
/// Attention whose queries and keys are normalised behind the position embedding.
Attention::Config normed_attention(int64_t num_heads, Child<QKV> qkv);
/// Residuals around a mixer: with a norm before it ("prenorm"), with norms on both sides of it
/// ("hybridnorm").
Child<Block> prenorm(Child<Mixer> body);
Child<Block> hybridnorm(Child<Mixer> body);
using NormPlace = Child<Block> (*)(Child<Mixer> body);

/// The numbers of a learner of this family.
struct MupSimple {
  /// Width of the model. Linear layers have the learning rate peak_lr * 768 / model_dim, if that is
  /// less than peak_lr.
  int64_t model_dim;
  double peak_lr = 0.01;
  int64_t warmup_steps = 5000;
  /// The update at the last step, as a fraction of the peak.
  double final_fraction = 0.1;
  /// Fraction of a weight that a step at the peak of the schedule subtracts, at any rate.
  double weight_decay = 1e-4;

  double linear_lr() const;
  /// Patterns of the paths of linear layers. Routers are none.
  static std::vector<std::string> linear_layers();
  /// Rises to 1, then falls like a cosine.
  CosineWithWarmup update_schedule() const;
};

/// Returns the optimizer with these numbers; linear layers are a group of their own.
template <class Config>
Child<Optimizer> with_mup_simple(Config optimizer, const MupSimple& m) {
  optimizer.learning_rate = ConstantRate{.value = m.peak_lr};
  optimizer.update_schedule = m.update_schedule();
  optimizer.weight_decay = m.weight_decay;
  optimizer.decay_factor = DecayFactor::kOne;
  if (m.linear_lr() == m.peak_lr) return optimizer;
  Config linear = optimizer;
  linear.learning_rate = ConstantRate{.value = m.linear_lr()};
  return OptimizerGroups::Config{
      .groups = {{"linear", {.params = m.linear_layers(), .optimizer = std::move(linear)}}},
      .others = std::move(optimizer)};
}

}  // namespace axle
