// Reports statistics of the activations of layers.
#pragma once

#include "modifiers/modifier.h"
#include "nn/statistic.h"

namespace axle {

/// Sets the option `@stats` of every layer slot whose path matches, and enables the summaries of
/// layers. Each training step then reports the statistics of the results of these layers as
/// "summary/<layer>/output/<statistic>", with a number for each layer of a loop. Parameters keep
/// their paths.
class CollectStats final : public Modifier {
 public:
  struct Config {
    /// Pattern of slot paths: "**.layer" for the layers of any stack, "**.body" for all mixers.
    std::string at = {};
    /// The statistics; empty: none any more.
    std::vector<Statistic> stats = all_statistics();
    AXLE_CONFIG(CollectStats, at, stats)
  };
  CollectStats(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if no layer slot matches.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
