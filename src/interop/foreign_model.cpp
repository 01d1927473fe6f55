#include "interop/foreign_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/run_files.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/hugging_face.h"
#include "interop/llama2c.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// Vocabularies of llama2.c have one id a row of the embedding. Others may have rows to spare.
void check_vocab_size(const fs::path& tokenizer, int64_t size, int64_t rows, bool is_exact) {
  if (is_exact ? size == rows : size <= rows) return;
  throw DataError(fmt::format("{}: expected a vocabulary of {}{} tokens, as in the weights, got {}",
                              tokenizer.string(), is_exact ? "" : "at most ", rows, size));
}

}  // namespace

bool is_foreign_model(const fs::path& path) {
  return path_exists(path / kHuggingFaceConfig) && !path_exists(config_file_of(path)) &&
         !path_exists(checkpoints_of(path));
}

Child<Tokenizer> tokenizer_at(const fs::path& file) {
  const std::string path = text_of_path(file.string());
  if (file.extension() == ".model") return SentencePieceTokenizer::Config{.path = path};
  return Llama2cTokenizer::Config{.path = path};
}

ModelToSave read_foreign_model(const fs::path& path, const ForeignOptions& options) {
  const bool is_folder = directory_exists(path);
  if (!is_folder && options.tokenizer.empty()) {
    throw ConfigError(
        fmt::format("--tokenizer: expected the vocabulary of {}, got none", path.string()));
  }
  ImportedModel model = is_folder ? read_hugging_face(path, options.ignored, options.with_weights)
                                  : read_llama2c(path);
  ModelToSave out{.model = std::move(model.model),
                  .tokenizer = {},
                  .parameters = std::move(model.parameters),
                  .context_len = model.max_seq_len};
  const fs::path file = options.tokenizer.empty() ? model.tokenizer : options.tokenizer;
  if (file.empty()) return out;
  out.tokenizer_file = fs::absolute(file);
  out.tokenizer = tokenizer_at(out.tokenizer_file);
  const auto tokenizer = tokenizer_at(file).build({}, Scope{.path = "tokenizer"});
  check_vocab_size(file, tokenizer->vocab_size(), model.vocab_size, !is_folder);
  return out;
}

}  // namespace axle
