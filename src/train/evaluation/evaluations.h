// All evaluations of a run, and which of them are still due.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/fields.h"
#include "runtime/memory_estimate.h"
#include "train/evaluation/evaler.h"
#include "train/evaluation/task_evaler.h"

namespace axle {

/// Returns how many documents are left out, with the first reason. `skipped.count` is at least 1.
std::string skipped_text(const Skipped& skipped);

class Evaluations {
 public:
  /// Builds every evaler of the config. Throws as Evaler and TaskEvaler do.
  Evaluations(const NamedMap<Evaler::Config>& evalers,
              const NamedMap<TaskEvaler::Config>& task_evalers, const EvaluatedRun& run);
  /// Compiles all programs. Evalers with equal programs share one executable. Returns early if
  /// `stop` asks for it.
  void compile(Runtime& runtime, const CompileOptions& options, const StopCondition& stop);
  /// Returns lines about the data of the evalers: one for each evaler whose data differ from
  /// `training` ("data: evalers.val: 1 file, 17145 bytes"), and a warning for each
  /// evaler that left out documents other than those of `training`.
  std::vector<std::string> data_notes(const InputFacts& training) const;
  /// Returns Evaler::data_state() of each evaler by name.
  Tree<std::string> data_states() const;
  /// Returns a warning for each evaler whose data are others than those of `saved`: its losses
  /// before and after do not compare.
  std::vector<std::string> changed_data(const Tree<std::string>& saved) const;
  /// Returns all programs, under names like "evalers.held_out".
  std::vector<TracedProgram> traced() const;
  /// Returns the programs compiled so far, under the same names.
  std::vector<NamedProgram> compiled() const;
  /// Records that the state after `step` is evaluated.
  void mark_done(const std::string& evaler, int64_t step) { done_at_[evaler] = step; }
  /// Returns the evaluations that are due after `step` and not done yet; at the end of a run, all
  /// that are not done after `step`.
  std::vector<RepeatedEvaluation*> due_evaluations(int64_t step, bool at_end);

 private:
  std::vector<Evaler> evalers_;
  std::vector<TaskEvaler> task_evalers_;
  std::map<std::string, int64_t> done_at_;  // newest evaluated step, by the evaler's name
};

}  // namespace axle
