// Biases that several layers share.
//
// Source: Raffel et al. 2020, arXiv 1910.10683, section 2.1: the layers of T5 share one bias.
#pragma once

#include "layers/attention/biases/logit_bias.h"

namespace axle {

/// Computes a bias and lets later layers add it too, by BorrowedBias. Their queries and keys must
/// have the same positions as those of this layer.
///
/// Where places are in order and the bias follows from distances, it is published by distance,
/// f32[1, N, 2 M - 1] with M the larger of T and S, so that no layer needs a bias of T x S places.
/// Another one is published as f32[B, N, T, S], or f32[1, N, T, S] if it is the same for all rows:
/// a pipeline splits what has rows.
class SharedBias final : public LogitBias {
 public:
  struct Config {
    /// The name under which the bias is published.
    std::string name = "bias";
    /// Computes the bias.
    Child<LogitBias> inner = {};
    AXLE_CONFIG(SharedBias, name, inner)
  };
  SharedBias(const Config& cfg, const Dims& dims, const Scope& scope)
      : LogitBias(scope), name_(cfg.name), inner_(child("inner", cfg.inner, dims)) {}

 protected:
  Tensor forward(const TokenPlaces& places) override;
  OfBlock unchecked_blocks(const TokenPlaces& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPlaces& all) const override;

 private:
  bool shares_distances(const TokenPlaces& all) const;

  std::string name_;
  Handle<LogitBias> inner_;
};

/// Adds the bias that an earlier layer shares (SharedBias).
///
/// Throws ConfigError in a call if no earlier layer has published the name, ShapeError if that
/// layer has other positions.
class BorrowedBias final : public LogitBias {
 public:
  struct Config {
    /// The name under which the bias was published.
    std::string name = "bias";
    AXLE_CONFIG(BorrowedBias, name)
  };
  BorrowedBias(const Config& cfg, const Dims&, const Scope& scope)
      : LogitBias(scope), name_(cfg.name) {}

 protected:
  Tensor forward(const TokenPlaces& places) override;
  OfBlock unchecked_blocks(const TokenPlaces& all, int64_t num_rows) override;
  BiasDependence own_dependence(const TokenPlaces& all) const override;

 private:
  // Returns what the owner published, after a check that it fits these places.
  Tensor of_owner(const TokenPlaces& places) const;

  std::string name_;
};

}  // namespace axle
