// The files of a trained tokenizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "data/tokenizers/training/merges/merge_learner.h"
#include "data/tokenizers/training/train_tokenizer.h"

namespace axle {

/// What stands for a space where pieces are made of characters, and the pattern of line ends, which
/// are pieces there.
inline constexpr std::string_view kMetaSpace = "\xe2\x96\x81", kLineEnds = "\n+";

/// Returns tokenizer.json and tokenizer_config.json, by their names, for tokens of which the first
/// `num_special` are special.
std::map<std::string, std::string> trained_files(const TokenizerTraining& training,
                                                 int64_t num_special, const MergeLearner& learner);

}  // namespace axle
