// Imports models of other programs into a folder that `axle generate` reads.
#pragma once

#include "base/text/text.h"
#include "interop/foreign_model.h"

namespace axle {

struct ImportRequest {
  /// A folder of Hugging Face, a GGUF file, or weights of llama2.c.
  std::filesystem::path source;
  /// The folder to create.
  std::filesystem::path dir;
  ForeignOptions options = {};
};

struct ImportReport {
  std::filesystem::path dir;
  int64_t num_parameters = 0, vocab_size = 0, max_seq_len = 0, num_left_out = 0;
  bool has_tokenizer = true;
  std::string special_ids = {};  // as ModelToSave has them
  /// What is wrong with the tokenizer's chat template; empty: nothing.
  std::string chat_template = {};
};
std::string to_text(const ImportReport& report);
nlohmann::ordered_json to_json(const ImportReport& report);

/// Copies weights and tokenizer of a model into `dir`. Throws DataError for bad files and if the
/// vocabulary of the tokenizer does not fit the weights, ConfigError if `dir` is not empty,
/// StorageError.
ImportReport import_model(const ImportRequest& request);

/// Which parameters of a run to load: the trained ones, or their average (learner.ema).
enum class Weights { kTrained, kAverage };
constexpr auto texts_of(Weights) {
  return std::to_array<EnumText<Weights>>(
      {{Weights::kTrained, "trained"}, {Weights::kAverage, "average"}});
}

}  // namespace axle
