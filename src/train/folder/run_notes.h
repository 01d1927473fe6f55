// What a run tells its user beside its numbers.
#pragma once

#include <string>
#include <vector>

#include "data/source.h"
#include "targets/machine_peak.h"
#include "train/device_state.h"
#include "train/record/model_flops.h"
#include "train/record/summary_writer.h"
#include "train/trainer.h"

namespace axle {

/// Schedules of the learner that end before the run does or warm up for all of it, a line each:
/// what max_steps cannot stretch.
std::vector<std::string> misfit_schedules(const Trainer::Config& config);
/// How many documents are left out, with the first reason; for at least one.
std::string left_out_text(const Skipped& skipped);
struct NotFinite {
  std::string what;
  /// True of a state that was so before the step: skipping steps does not mend it.
  bool for_good = false;
};
/// What was not finite in a step of this record, which has kept `state` as it was; `part` is its
/// "not_finite" (programs.h), a number of FiniteState. The state itself, which is finite once a
/// step has been taken, is looked at behind the first step alone: that takes long where it is
/// large.
NotFinite what_is_not_finite(const StepRecord& record, int64_t part, const DeviceState& state,
                             bool is_first);
/// What mfu is a share of, and why it stays 0 where it does; `peak` is that of flops.dtype.
std::vector<std::string> mfu_notes(const ModelFlops& flops, const Peak& peak,
                                   const Topology& topology);

}  // namespace axle
