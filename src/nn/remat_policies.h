// The remat policies of transform/remat/remat.h, under names for configs.
#pragma once

#include <string>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "transform/remat/remat.h"

namespace axle {

/// Keeps no residuals: everything is recomputed in the backward pass.
struct SaveNothing {
  RematPolicy operator()() const { return save_nothing(); }
  AXLE_CONFIG(SaveNothing)
};
/// Keeps all values that the backward pass reads, as without remat.
struct SaveEverything {
  RematPolicy operator()() const { return save_everything(); }
  AXLE_CONFIG(SaveEverything)
};
/// Keeps the results of all products (dots, ragged dots, convolutions) and recomputes the rest.
struct SaveDots {
  RematPolicy operator()() const { return save_dots(); }
  AXLE_CONFIG(SaveDots)
};
/// Keeps the results of all products, as SaveDots does, in the host's memory if the target supports
/// that, else on the device.
struct OffloadDots {
  RematPolicy operator()() const { return offload_dots(); }
  AXLE_CONFIG(OffloadDots)
};
/// Keeps the values with one of these tags and recomputes the rest. At least one of the lists must
/// not be empty.
struct SaveNames {
  /// Tags given by name(x, tag); "*" and "?" match as in file names.
  std::vector<std::string> names = {};
  /// Tags of values that are kept in the host's memory if the target supports that, else on the
  /// device.
  std::vector<std::string> offload = {};
  /// Tags of values that are kept on the device where there are any: not every form of a layer
  /// makes them.
  std::vector<std::string> optional = {};
  RematPolicy operator()() const { return save_names(names, offload, optional); }
  AXLE_CONFIG(SaveNames, names, offload, optional)
};
/// Saves the projections of each attention layer (the names), and what attention by blocks needs in
/// order not to be computed twice (the optional ones).
SaveNames kept_projections();

/// Keeps the values whose whole tag one of these regular expressions matches, and recomputes the
/// rest. At least one of the two lists must not be empty.
struct SaveMatching {
  /// Expressions for the tags of values that are kept on the device.
  std::vector<std::string> patterns = {};
  /// Patterns of the values that are kept in the host's memory if the target supports that, else on
  /// the device.
  std::vector<std::string> offload = {};
  RematPolicy operator()() const { return save_matching(patterns, offload); }
  AXLE_CONFIG(SaveMatching, patterns, offload)
};
/// Keeps what any of several policies keeps.
struct CombinedPolicies {
  /// The policies that decide together.
  std::vector<Fn<RematPolicy()>> policies = {};
  RematPolicy operator()() const;
  AXLE_CONFIG(CombinedPolicies, policies)
};

}  // namespace axle
