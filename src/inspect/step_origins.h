// The documents that the rows of a step are made of.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/input.h"
#include "train/trainer.h"

namespace axle {

struct StepOrigins {
  int64_t step = 0;
  std::vector<RowOrigin> parts = {};
};

/// Opens the training input of a config as a run does, and asks for the rows of a step, from 1.
/// Throws ConfigError for a step behind `max_steps`, if the input has no documents, or if the data
/// end before the step.
StepOrigins origins_of_step(const Trainer::Config& config, int64_t step);
std::string to_text(const StepOrigins& origins);
nlohmann::ordered_json to_json(const StepOrigins& origins);

}  // namespace axle
