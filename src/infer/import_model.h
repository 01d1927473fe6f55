// Weights of other programs, made a folder that generate takes.
#pragma once

#include <filesystem>
#include <string>

namespace axle {

struct ImportRequest {
  std::filesystem::path weights;
  /// A vocabulary of llama2.c, or a SentencePiece model, by the file name's end ".model".
  std::filesystem::path tokenizer;
  /// The folder to make.
  std::filesystem::path dir;
};

struct ImportReport {
  std::filesystem::path dir;
  int64_t num_parameters = 0, vocab_size = 0, max_seq_len = 0;
};
std::string to_text(const ImportReport& report);

/// Copies weights and tokenizer of a llama2.c model into `dir`. Throws DataError for bad files and
/// for a vocabulary of another size than the model's, ConfigError if `dir` holds anything,
/// StorageError.
ImportReport import_llama2c(const ImportRequest& request);

}  // namespace axle
