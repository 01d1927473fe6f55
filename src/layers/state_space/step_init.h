// Initial decays and step sizes of state-space models.
//
// Source: Gu & Dao 2023, arXiv 2312.00752, section 3.6; Dao & Gu 2024, arXiv 2405.21060.
#pragma once

#include "config/fields/ranged.h"
#include "nn/init.h"

namespace axle {

/// Draws log(u) with u uniform in [low, high).
struct LogOfUniform {
  /// The least u.
  Positive<double> low = 1;
  /// The bound of u.
  Positive<double> high = 16;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(LogOfUniform, low, high)
};
/// Draws b so that softplus(b) is log-uniform in [low, high).
struct InverseSoftplusOfLogUniform {
  /// The least softplus(b).
  Positive<double> low = 1e-3;
  /// The bound of softplus(b).
  Positive<double> high = 1e-1;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(InverseSoftplusOfLogUniform, low, high)
};

}  // namespace axle
