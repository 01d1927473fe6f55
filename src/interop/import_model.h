// Imports weights of other programs into a folder that `axle generate` reads.
#pragma once

#include <filesystem>
#include <string>

namespace axle {

struct ImportRequest {
  std::filesystem::path weights;
  /// The tokenizer file: a SentencePiece model if the name ends in ".model", else a vocabulary of
  /// llama2.c.
  std::filesystem::path tokenizer;
  /// The folder to create.
  std::filesystem::path dir;
};

struct ImportReport {
  std::filesystem::path dir;
  int64_t num_parameters = 0, vocab_size = 0, max_seq_len = 0;
};
std::string to_text(const ImportReport& report);

/// Copies weights and tokenizer of a llama2.c model into `dir`. Throws DataError for bad files and
/// if the sizes of the vocabularies differ, ConfigError if `dir` is not empty, StorageError.
ImportReport import_llama2c(const ImportRequest& request);

}  // namespace axle
