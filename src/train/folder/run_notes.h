// Messages of a run to its user, besides the metrics.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"
#include "targets/machine_peak.h"
#include "train/config/trainer_config.h"
#include "train/device_state.h"
#include "train/record/model_flops.h"
#include "train/record/summary_writer.h"
#include "train/record/throughput.h"
#include "train/run_memory.h"

namespace axle {

/// Returns one line for each schedule of the learner that ends before the run does or warms up for
/// the whole run. max_steps does not stretch such schedules.
std::vector<std::string> schedule_warnings(const Trainer::Config& config);
/// Returns how many documents are left out, with the first reason. `skipped.count` is at least 1.
std::string skipped_text(const Skipped& skipped);
struct NonFiniteStep {
  /// The values that were not finite, as text for a message.
  std::string what;
  /// True if the state is not finite: skipping steps does not repair it.
  bool is_permanent = false;
};
/// Returns what was not finite in the step of this record. `part` is the step's "not_finite" metric
/// (programs.h): an index into FiniteState::parts(). After the first step (`is_first`) searches the
/// state before it, too: `state` if the step left it unchanged, else the newest checkpoint. That
/// takes long for a large state; before a later step, the state is known to be finite.
NonFiniteStep non_finite_step(const StepRecord& record, int64_t part, bool is_first,
                              const DeviceState& state, const std::filesystem::path& checkpoints);
/// Returns which state is saved when a step that is not finite ends the run: the one without that
/// step (`is_saved`), or an earlier one. `how` tells how to continue from the former.
std::string what_is_saved(bool is_saved, std::optional<int64_t> last, std::string_view how);
/// Returns what to change in the command of a run that ended because a step was not finite, so that
/// it continues. `find_nan`: the run has --find-nan, which ends it whatever the policy says.
std::string how_to_continue(bool find_nan, OnNonFinite policy);
/// Returns lines that name the peak behind mfu, or the reason why mfu stays 0. `peak` is the peak
/// for flops.dtype.
std::vector<std::string> mfu_notes(const ModelFlops& flops, const Peak& peak,
                                   const Topology& topology);

/// Returns the most rows of a batch, as many as given at most, that fit into memory; 0: none.
using RowsThatFit = std::function<int64_t(int64_t rows)>;
/// Returns lines that tell the least time of a step that takes a second or more at the peak, and
/// which batch makes a long one shorter, among those that fit.
std::vector<std::string> step_time_notes(const Trainer::Config& config, const ModelFlops& flops,
                                         const Peak& peak, const RowsThatFit& rows_that_fit);

/// Measures the peak of this machine and sets what it and the model tell about the cost of a step.
/// Returns the lines of mfu_notes and step_time_notes.
std::vector<std::string> measure_peak(const ProgramParts& parts, const Trainer::Config& config,
                                      const Topology& topology, const RunMemory& memory,
                                      StepCost& cost);

}  // namespace axle
