// What a training of a tokenizer has made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/tokenizers/training/train_tokenizer.h"

namespace axle {

/// A training whose files are written.
struct TokenizerTrainingReport {
  std::string dir;
  int64_t wanted_size = 0, min_frequency = 0;  // what was asked for
  double max_text_gigabytes = 0;
  TrainedTokenizer trained;
};

/// Writes the files of a tokenizer into a folder, which it makes.
void save_tokenizer(const TrainedTokenizer& trained, const std::string& dir);
/// Throws DataError if one of the files of a tokenizer is there already, StorageError if one can't
/// be written. Call it before the training.
void check_tokenizer_folder(const std::string& dir);

std::string to_text(const TokenizerTrainingReport& report);
nlohmann::ordered_json to_json(const TokenizerTrainingReport& report);
/// One line.
std::string to_text(const TokenizerTrainingProgress& progress, double seconds);

}  // namespace axle
