#include "data/chat/chat_input.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "data/chat/chat_in_memory.h"
#include "data/chat/streamed_chat.h"

namespace axle {

ChatInput::ChatInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  if (cfg.packing != Packing::kWhole && cfg.packing != Packing::kBestFit) {
    throw ConfigError(fmt::format(
        "{}.packing: expected whole or best_fit, which keep conversations whole, got {}",
        scope.path, to_text(cfg.packing)));
  }
  if (is_streamed(cfg.source, cfg.memory_bytes))
    rows_ = std::make_unique<StreamedChat>(cfg, dims, scope);
  else
    rows_ = std::make_unique<ChatInMemory>(cfg, dims, scope);
}

AXLE_REGISTER(ChatInput)

}  // namespace axle
