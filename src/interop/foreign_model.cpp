#include "interop/foreign_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/run_files.h"
#include "data/tokenizers/open_tokenizer.h"
#include "interop/gguf_model.h"
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
  return is_gguf(path) ||
         (path_exists(path / kHuggingFaceConfig) && !path_exists(config_file_of(path)) &&
          !path_exists(checkpoints_of(path)));
}

ModelToSave read_foreign_model(const fs::path& path, const ForeignOptions& options) {
  const bool is_folder = directory_exists(path), is_llama2c = !is_folder && !is_gguf(path);
  if (is_llama2c && options.tokenizer.empty()) {
    throw ConfigError(
        fmt::format("--tokenizer: expected the vocabulary of {}, got none", path.string()));
  }
  ImportedModel model = is_folder ? read_hugging_face(path, options.ignored, options.with_weights)
                        : is_llama2c ? read_llama2c(path)
                                     : read_gguf(path, options.ignored, options.with_weights);
  ModelToSave out{.model = std::move(model.model),
                  .tokenizer = {},
                  .parameters = std::move(model.parameters),
                  .context_len = model.max_seq_len};
  const fs::path file = options.tokenizer.empty() ? model.tokenizer : options.tokenizer;
  if (file.empty()) return out;
  out.tokenizer_file = fs::absolute(file);
  out.tokenizer = tokenizer_in_file(text_of_path(out.tokenizer_file.string()), "--tokenizer");
  const auto tokenizer = out.tokenizer.build({}, Scope{.path = "tokenizer"});
  const int64_t size = is_llama2c ? tokenizer->vocab_size() : needed_vocab_size(*tokenizer);
  check_vocab_size(file, size, model.vocab_size, is_llama2c);
  return out;
}

}  // namespace axle
