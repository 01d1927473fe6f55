// Finds all reasons for which a run would refuse its config, without devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host_memory.h"
#include "base/mistakes.h"
#include "train/config/trainer_config.h"

namespace axle {

/// Returns one line for each mistake, with the exit code that a run would end with:
///   fields that are missing or out of range
///   what the model, learner, tokenizers, mesh and writers throw when they are built
///   what the inputs throw when they read their data
///   what the tasks of the run's evaluations throw when their questions are made
///   what the host lacks for a run on its own processors, as a run finds before it compiles
///     (RunMemory); not without `host`
///   what the programs of the step and of each evaluation, also those of tasks, throw when they are
///     traced and lowered
/// The programs are made for `num_devices` devices; none: for as many as the mesh names, which must
/// not be more than one machine can have. Parts that depend on a part with a mistake are not
/// checked. Empty: the run can start, as far as the config can tell. `warnings`: gets what the run
/// would warn of, such as files that the inputs leave out.
Mistakes config_problems(const Trainer::Config& config, std::optional<int64_t> num_devices = {},
                         const std::optional<HostMemory>& host = {},
                         std::vector<std::string>* warnings = nullptr);

}  // namespace axle
