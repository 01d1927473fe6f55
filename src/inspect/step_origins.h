// The documents that the rows of a step are made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/input.h"
#include "train/config/trainer_config.h"

namespace axle {

struct StepOrigins {
  int64_t step = 0;
  std::vector<RowOrigin> parts = {};
};

/// Opens the training input of a config as a run does, and asks for the rows of a step, from 1.
/// `run` is the folder of the run, or the place of its config. Throws ConfigError for a step behind
/// `max_steps`, if the input has no documents, or if the data end before the step. Throws DataError
/// if a checkpoint of the run tells that the data have changed.
StepOrigins origins_of_step(const Trainer::Config& config, int64_t step,
                            const std::filesystem::path& run);
std::string to_text(const StepOrigins& origins);
nlohmann::ordered_json to_json(const StepOrigins& origins);

}  // namespace axle
