// What a run would refuse of its config, all of it at once, without devices and without reading
// data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace axle {

/// A line for each mistake: fields that are missing or out of range, what the model, learner,
/// tokenizers, mesh and writers say when they are built, and the programs of a step and of each
/// evaluation when they are traced and lowered for `num_devices`; none: as many as the mesh names,
/// which one machine must be able to have.
/// A part that stands on one with a mistake is not looked at. Empty: the run can start, as far as a
/// config tells.
std::vector<std::string> config_problems(const Trainer::Config& config,
                                         std::optional<int64_t> num_devices = {});

}  // namespace axle
