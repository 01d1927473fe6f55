#include "interop/import_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/data_file.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/llama2c.h"
#include "interop/model_folder.h"

namespace axle {
namespace {

Child<Tokenizer> tokenizer_at(const std::filesystem::path& path) {
  if (path.extension() == ".model") return SentencePieceTokenizer::Config{.path = path.string()};
  return Llama2cTokenizer::Config{.path = path.string()};
}

// Refuses a file in the folder to make: files that an earlier import left there are removed.
void check_outside(const std::filesystem::path& file, const std::filesystem::path& dir) {
  std::error_code error;  // set for a path that does not exist, which is not inside
  const auto real =
      std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
  for (auto above = real.parent_path(); above.has_relative_path(); above = above.parent_path()) {
    if (!std::filesystem::equivalent(above, dir, error)) continue;
    throw ConfigError(fmt::format("{}: expected a file outside of the new folder, got one in {}",
                                  file.string(), dir.string()));
  }
}

}  // namespace

std::string to_text(const ImportReport& r) {
  return fmt::format("{}: {} parameters, vocabulary of {}, texts of up to {} tokens\n",
                     r.dir.string(), r.num_parameters, r.vocab_size, r.max_seq_len);
}

ImportReport import_llama2c(const ImportRequest& request) {
  // The tokenizer's file is copied, so that the folder does not depend on other files and can be
  // moved.
  const std::filesystem::path name = request.tokenizer.filename();
  check_new_model(request.dir, {name.string()});
  for (const std::filesystem::path& file : {request.weights, request.tokenizer})
    check_outside(file, request.dir);
  ImportedModel model = read_llama2c(request.weights);
  const bool is_model = request.tokenizer.extension() == ".model";
  const std::string tokenizer_bytes =
      read_data_file(request.tokenizer.string(), "--tokenizer",
                     is_model ? "a SentencePiece model" : "a llama2.c vocabulary");
  const int64_t vocab_size =
      tokenizer_at(request.tokenizer).build({}, Scope{.path = "tokenizer"})->vocab_size();
  if (vocab_size != model.vocab_size) {
    throw DataError(fmt::format("{}: expected a vocabulary of {} tokens, as in the weights, got {}",
                                request.tokenizer.string(), model.vocab_size, vocab_size));
  }
  ImportReport report{
      .dir = request.dir, .vocab_size = model.vocab_size, .max_seq_len = model.max_seq_len};
  for (const auto& [path, value] : model.parameters) report.num_parameters += value.size();
  save_model(request.dir, {.model = model.config,
                           .tokenizer = tokenizer_at(name),
                           .parameters = std::move(model.parameters),
                           .context_len = model.max_seq_len,
                           .files = {{name.string(), tokenizer_bytes}}});
  return report;
}

}  // namespace axle
