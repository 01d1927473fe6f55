// The data of a recipe, whatever its input looks like: what `--data` does.
#pragma once

#include <string_view>

#include "train/trainer.h"

namespace axle {

/// Batches of an evaluation on synthetic data: it must come to an end.
inline constexpr int64_t kSyntheticEvalBatches = 8;
/// The word that stands for seeded tokens, in place of a path.
inline constexpr std::string_view kSyntheticData = "synthetic";

/// Points every TextSource of the training input at `data`, a file or folder of text, and those of
/// evaluations that name no path or read the same text as the input does; others keep their own.
/// The word "synthetic" puts a SyntheticInput in the place of each of these inputs, with the same
/// seq_len and batch_size. Throws ConfigError where the training input reads no text.
void use_data(Trainer::Config& config, std::string_view data);

}  // namespace axle
