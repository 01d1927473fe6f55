// The files of a trained tokenizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/training/merges/merge_learner.h"
#include "data/tokenizers/training/train_tokenizer.h"

namespace axle {

/// The pattern of line ends, which are pieces where pieces are made of characters.
inline constexpr std::string_view kLineEnds = "\n+";

/// Returns tokenizer.json and tokenizer_config.json, by their names, for tokens of which the first
/// `num_special` are special.
std::map<std::string, std::string> trained_files(const TokenizerTraining& training,
                                                 int64_t num_special, const MergeLearner& learner);

}  // namespace axle
