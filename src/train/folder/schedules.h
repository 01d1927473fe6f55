// The schedules of a run: those that do not end with it, and those of a run that is resumed with
// another number of steps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/config/trainer_config.h"

namespace axle {

/// Returns the config with the ends of its learner's schedules set to those of the run in `dir`,
/// wherever the config leaves them open: they do not move with `max_steps`. Without a checkpoint
/// that can be read, returns the config as it is.
Trainer::Config with_kept_schedules(Trainer::Config config, const std::filesystem::path& dir);

/// Returns the text of a saved config with the ends of its schedules written out, as
/// with_kept_schedules() writes them; the text itself if it is no config.
std::string with_written_ends(const std::string& config_text);

/// Returns one line for each schedule of the learner that gives another value at a step of the run
/// after `step` than it would have in the run that was saved there: it names the first such step
/// and both rates.
std::vector<std::string> schedule_jumps(const std::string& saved_config,
                                        const Trainer::Config& config, int64_t step);

/// Returns one line for each schedule of the learner that ends before the run does or warms up for
/// the whole run. max_steps does not stretch such schedules.
std::vector<std::string> schedule_warnings(const Trainer::Config& config);

}  // namespace axle
