// Numbers that are not finite: whether a training state holds one, and which op made the first
// (`axle train --find-nan`).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"
#include "lower/stablehlo.h"
#include "runtime/runtime.h"
#include "train/program/programs.h"
#include "train/record/summary_writer.h"

namespace axle {

/// The training state in groups that are checked together. A group is a parameter with everything
/// that the learner keeps for it ("learner/optimizer/m/<parameter>"), or any other single leaf.
/// Leaves without floating-point values belong to no group.
class FiniteState {
 public:
  /// `state` is the result of train_state().
  explicit FiniteState(const std::vector<ProgramValue>& state);
  /// The name of each group: the name of its parameter or of its only leaf.
  const std::vector<std::string>& groups() const { return groups_; }
  /// Traced: returns the index of the first group that holds a non-finite value, -1 if there is
  /// none; an i32 scalar.
  Tensor first_non_finite(const Tree<Tensor>& state) const;

 private:
  std::vector<std::string> groups_;
  std::vector<std::vector<std::string>> leaves_;  // names of the leaves of each group
};

/// Returns the name of the first leaf that holds a NaN or an infinity. Copies the leaves to the
/// host one after another, so call it only for a state that is suspected to be bad.
std::optional<std::string> first_non_finite(const DeviceState& state);
/// The same for the newest good checkpoint of a run, read one tensor at a time; none without one.
std::optional<std::string> first_non_finite(const std::filesystem::path& checkpoints);

struct NonFiniteStep {
  /// The values that were not finite, as text for a message.
  std::string what;
  /// True if the state is not finite: skipping steps does not repair it.
  bool is_permanent = false;
};
/// Returns what was not finite in the step of this record. `group` is the step's "not_finite"
/// metric (programs.h): an index into FiniteState::groups(). After the first step (`is_first`)
/// searches the state before it, too: `state` if the step left it unchanged, else the newest
/// checkpoint. That takes long for a large state; before a later step, the state is known to be
/// finite.
NonFiniteStep non_finite_step(const StepRecord& record, int64_t group, bool is_first,
                              const DeviceState& state, const std::filesystem::path& checkpoints);

/// Runs a step again that was not finite, and names the op that made its first NaN or infinity.
class NonFiniteFinder {
 public:
  /// All references must outlive the finder. The step must donate nothing: its arguments are read
  /// again.
  NonFiniteFinder(const Program& step, Runtime& runtime, CompileOptions options);
  /// Keeps the arguments of a step that is about to run.
  void remember(const Arrays& arguments) { arguments_ = arguments; }
  /// Notes that a search for the op begins, then what it found (to_text of NonFiniteOrigin) or why
  /// it failed. `step` is the number of the remembered one. If the state is saved, a signal ends
  /// the process at once, because nothing can interrupt the compilation.
  void report(int64_t step, bool is_saved,
              const std::function<void(const std::string&)>& note) const;

 private:
  std::string find() const;
  const Program& step_;
  Runtime& runtime_;
  CompileOptions options_;
  Arrays arguments_;
};

}  // namespace axle
