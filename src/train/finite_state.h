// Whether a new training state is one to go on from: every number of it finite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"
#include "lower/program.h"
#include "train/device_state.h"

namespace axle {

/// The training state in parts that are checked together: a parameter with all that is kept beside
/// it ("learner/optimizer/m/<parameter>"), everything else alone. Leaves without floating-point
/// values belong to none.
class FiniteState {
 public:
  /// `state` as train_state gives it.
  explicit FiniteState(const std::vector<ProgramValue>& state);
  /// The name of each part: that of its parameter or of its only leaf.
  const std::vector<std::string>& parts() const { return parts_; }
  /// Traced: the number of the first part that holds a value which is not finite, -1 where there is
  /// none; an i32 scalar.
  Tensor first_not_finite(const Tree<Tensor>& state) const;

 private:
  std::vector<std::string> parts_;
  std::vector<std::vector<std::string>> leaves_;  // of each part, by their names
};

/// The name of the first leaf that holds a NaN or an infinity. Copies one leaf after the other to
/// the host, so it is only for a state that is in doubt.
std::optional<std::string> first_not_finite(const DeviceState& state);

}  // namespace axle
