// The changes that may make a step fit, from the smallest on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/advice/trials.h"

namespace axle {

/// Changes of one kind, which differ in how much less the step then needs.
struct ChangeFamily {
  /// "microbatches".
  std::string name;
  /// Returns the smallest change whose estimate, so many times that of the graph, may fit; if none
  /// may, the one that needs the least. None: all are refused.
  std::function<std::optional<Trial>(double scale)> smallest;
  /// The most by which the graph's estimate is scaled before a change of this family was compiled.
  /// Less where the change takes away what the compiler needs so much for.
  double most_scale = Trials::kMostScale;
};

/// The families, in the order in which they are tried: those that leave the result of a step come
/// first, then fewer or shorter rows, then more devices. `request` and `trials` must outlive them.
std::vector<ChangeFamily> change_families(const ResolveRequest& request, const Trials& trials);

}  // namespace axle
