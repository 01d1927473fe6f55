// A change of a command line that makes another step: what it is, and what it then needs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "recipes/resolve/resolve.h"

namespace axle {

struct Change {
  /// What to add or to replace: "--set learner.microbatches=8".
  std::vector<std::string> flags;
  double estimated_bytes = 0;
  /// Of the compiled step; none: it was not compiled, or the compiler did not say.
  std::optional<int64_t> compiled_bytes = {};
  /// True if the step was compiled and fits.
  bool fits = false;
};

using Edits = std::vector<Edit>;
/// Returns the edits as flags of a command line.
std::vector<std::string> flags_of(const Edits& edits);

/// Returns the flags of the change: "--set learner.microbatches=8".
std::string flags_text(const Change& change);
/// Returns "--set learner.microbatches=8: 61.2 GiB of 72.8 GiB per device by an estimate".
std::string need_text(const Change& change, int64_t device_memory_bytes);
nlohmann::ordered_json to_json(const Change& change);

}  // namespace axle
