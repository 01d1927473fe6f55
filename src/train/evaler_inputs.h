// What evaluations take over from the input of the run.
#pragma once

#include "train/trainer.h"

namespace axle {

/// Fills what the inputs of evalers leave open with what the run's own input says: tokenizer,
/// seq_len and batch_size; where no text is named, also the source and held_out_fraction. Throws
/// ConfigError for an evaler with another tokenizer than the run's, and for one that holds out
/// another part of the text that the run trains on.
void complete_evaler_inputs(Trainer::Config& config);

}  // namespace axle
