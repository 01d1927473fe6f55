// Whether a resolved recipe is complete, in the words of the command line.
#pragma once

#include "train/trainer.h"

namespace axle {

/// Throws ConfigError as check_complete() does; where texts are missing, the message names --data.
void check_recipe(const Trainer::Config& config);

}  // namespace axle
