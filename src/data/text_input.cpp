#include "data/text_input.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "data/text_in_memory.h"
#include "data/token_files/streamed_text.h"

namespace axle {

void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size, std::string_view path) {
  const int64_t needed = needed_vocab_size(tokenizer);
  if (needed <= vocab_size) return;
  throw ConfigError(fmt::format(
      "{}.tokenizer: expected at most the model's vocabulary of {} tokens, got {}; a new "
      "model may have more (model.decoder.vocab_size)",
      path, vocab_size, needed));
}

TextInput::TextInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  if (cfg.packing == Packing::kPairs) {
    throw ConfigError(fmt::format("{}.packing: expected cut, whole or best_fit for text, got {}",
                                  scope.path, to_text(cfg.packing)));
  }
  if (is_streamed(cfg))
    rows_ = std::make_unique<StreamedText>(cfg, dims, scope);
  else
    rows_ = std::make_unique<TextInMemory>(cfg, dims, scope);
}

AXLE_REGISTER(TextInput)

}  // namespace axle
