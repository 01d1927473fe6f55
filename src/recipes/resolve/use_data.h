// Sets the data of a recipe, whatever class its input has. This is what `--data` does.
#pragma once

#include <string_view>

#include "train/trainer.h"

namespace axle {

/// Number of batches of an evaluation on synthetic data, which must end.
inline constexpr int64_t kSyntheticEvalBatches = 8;
/// The word that `--data` takes instead of a path, for random tokens made from a seed.
inline constexpr std::string_view kSyntheticData = "synthetic";

/// Points every TextSource of the training input at `data`, a file or folder of text. Also points
/// evalers at `data` if they name no path or read the same text as the training input; other
/// evalers keep their text. The word "synthetic" replaces each of these inputs by a SyntheticInput
/// with the same seq_len and batch_size. Throws ConfigError if the training input reads no text.
void use_data(Trainer::Config& config, std::string_view data);

}  // namespace axle
