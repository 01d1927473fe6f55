// Initialisers of weights whose outputs form groups.
#pragma once

#include "nn/init.h"

namespace axle {

/// Draws each of `num_groups` equal parts of the last dim by itself, so that the fans are those of
/// one group. The weight of a convolution in groups has the fan out of one group then.
///
/// Group i draws with key i of split(key, num_groups); a single group draws with the key itself.
/// Throws ConfigError if num_groups does not divide the last dim.
struct InitPerGroup {
  /// Number of groups of the last dim.
  Required<Positive<int64_t>> num_groups = REQUIRED;
  /// Initialiser of each group.
  Init init = VarianceScaling{};
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(InitPerGroup, num_groups, init)
};

}  // namespace axle
