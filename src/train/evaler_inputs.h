// What evaluations take over from the input of the run.
#pragma once

#include "train/trainer.h"

namespace axle {

/// Fills what the inputs of evalers leave open with what the run's own input says: tokenizer,
/// seq_len and batch_size; of the same text, and where no text is named, also the source's fields
/// and held_out_fraction. Throws ConfigError for an evaler with another tokenizer than the run's,
/// for one on held-out text that the run trains on, and for one where nothing is held out.
void complete_evaler_inputs(Trainer::Config& config);

}  // namespace axle
