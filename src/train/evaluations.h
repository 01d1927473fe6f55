// The evaluations of a run: which there are, and which are still owed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/host_needs.h"
#include "train/evaler.h"

namespace axle {

class Evaluations {
 public:
  /// Builds every evaler of the config. Throws as Evaler does.
  Evaluations(const TrainingParts& training, const Mesh& mesh);
  /// Those of equal programs share one executable. Ends early where `stop` asks for it.
  void compile(Runtime& runtime, const CompileOptions& options, const StopWish& stop);
  /// A line on the data of every evaler that has others than `training`, and a warning where some
  /// of them were left out: "data: evalers.val: 1 file, 17145 bytes".
  std::vector<std::string> data_notes(const InputFacts& training) const;
  /// What is compiled: "evalers.held_out" and the program of it.
  std::vector<NamedProgram> compiled() const;
  /// The state after `step` is evaluated: nothing is owed for it any more.
  void mark_done(const std::string& evaler, int64_t step) { done_at_[evaler] = step; }
  /// What is due after `step` and not done yet; at the end of a run all that is not done.
  std::vector<Evaler*> owed(int64_t step, bool at_end);

 private:
  std::vector<Evaler> evalers_;
  std::map<std::string, int64_t> done_at_;  // by the evaler's name: the newest step
};

}  // namespace axle
