// Checks that a resolved recipe is complete, with messages for the command line.
#pragma once

#include "train/config/trainer_config.h"

namespace axle {

/// Throws ConfigError as check_complete() does. If a path of texts is missing, the message names
/// --data.
void check_recipe(const Trainer::Config& config);

}  // namespace axle
