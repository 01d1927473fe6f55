// Checks that a new training state holds only finite numbers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"
#include "lower/trace_program.h"
#include "train/device_state.h"

namespace axle {

/// The training state in parts that are checked together. A part is a parameter with everything
/// that the learner keeps for it ("learner/optimizer/m/<parameter>"), or any other single leaf.
/// Leaves without floating-point values belong to no part.
class FiniteState {
 public:
  /// `state` is the result of train_state().
  explicit FiniteState(const std::vector<ProgramValue>& state);
  /// The name of each part: the name of its parameter or of its only leaf.
  const std::vector<std::string>& parts() const { return parts_; }
  /// Traced: returns the index of the first part that holds a non-finite value, -1 if there is
  /// none; an i32 scalar.
  Tensor first_non_finite(const Tree<Tensor>& state) const;

 private:
  std::vector<std::string> parts_;
  std::vector<std::vector<std::string>> leaves_;  // names of the leaves of each part
};

/// Returns the name of the first leaf that holds a NaN or an infinity. Copies the leaves to the
/// host one after another, so call it only for a state that is suspected to be bad.
std::optional<std::string> first_non_finite(const DeviceState& state);
/// The same for the newest good checkpoint of a run, read one tensor at a time; none without one.
std::optional<std::string> first_non_finite(const std::filesystem::path& checkpoints);

}  // namespace axle
