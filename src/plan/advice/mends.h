// Changes that mend what the report of a step that fits finds fault with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/advice/search.h"

namespace axle {

/// A change that was compiled, and what became of the faults.
struct Mend {
  Edits edits;
  Change change;
  /// The least time of a step; none: not known.
  std::optional<double> seconds = {};
  /// For each of Mends::faults, the finding after the change; none: the fault is gone.
  std::vector<std::optional<Finding>> left = {};
  /// True if the changed step is better: it fits, and takes less time or, in no more time, has
  /// fewer faults and none that is larger or new.
  bool is_better = false;
};

struct Mends {
  /// Changes that mends_of() compiles at most.
  static constexpr size_t kMostCompiled = 5;

  /// What the report finds fault with.
  std::vector<Finding> faults = {};
  /// The least time of the step as it is; none: not known.
  std::optional<double> seconds = {};
  /// Changes that were compiled for these faults.
  std::vector<Mend> tried = {};
  /// The index in `tried` of the better change of the least time: the one to make. None: no change
  /// that was compiled makes the step better.
  std::optional<size_t> best = {};
  int64_t device_memory_bytes = 0;
};

/// Compiles, for each kind of fault, the changes that may mend it: a mesh in which fewer devices
/// share each parameter; as few microbatches as fit, where each gathers parameters again, but not
/// fewer than `learner.device_rows` asks for; a remat policy that keeps more; more microbatches
/// where the compiler computes again because memory is short. Then compiles the better ones
/// together. Leaves out what may not fit by an estimate. Empty if the step does not fit.
Mends mends_of(const CompileReport& report, const Resolved& resolved, const Target& target,
               const CompileStep& compile);

/// Returns "try --mesh data=4,fsdp=128: none left of 402 reduce-scatters that are all-reduces; at
/// least 4.210 s a step in place of 4.400 s (compiled)", and a line on the faults that no change
/// was found for.
std::string to_text(const Mends& mends);
nlohmann::ordered_json to_json(const Mends& mends);

}  // namespace axle
