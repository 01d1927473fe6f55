// Fields that the inputs of evalers inherit from the input of the run.
#pragma once

#include "train/config/trainer_config.h"

namespace axle {

/// Fills fields that an evaler's input leaves open with the values of the run's own input:
/// tokenizer, seq_len, batch_size, prompt and position_streams. An evaler that reads the same text
/// as the run, or names no text, also takes over the fields of the source and held_out_fraction.
/// Throws ConfigError if an evaler has another tokenizer than the run, if the run does not hold out
/// exactly the text that an evaler reads, and if an evaler on held-out text holds out nothing.
void complete_evaler_inputs(Trainer::Config& config);

}  // namespace axle
