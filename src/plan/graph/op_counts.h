// How many ops of each kind a training step has.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace axle {

struct OpCount {
  std::string op;
  /// Ops of the program by StepStage; the body of a loop counts once.
  std::array<int64_t, 3> count = {};
  /// How often one step runs them; the body of a loop counts in each iteration.
  double runs = 0;
};

struct OpCounts {
  std::vector<OpCount> ops;  // sorted by name
};

/// Counts the ops of a step, those of `layer` and below alone if it is not empty.
OpCounts op_counts(const Region& step, const std::string& layer);

std::string to_text(const OpCounts& counts);
/// {ops: {name: {forward, backward, update, runs}}}
nlohmann::ordered_json to_json(const OpCounts& counts);

}  // namespace axle
