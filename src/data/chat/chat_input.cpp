#include "data/chat/chat_input.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/carry.h"
#include "config/register.h"
#include "data/chat/chat_in_memory.h"
#include "data/chat/streamed_chat.h"
#include "data/text_input.h"
#include "data/token_files/token_input.h"

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

namespace {

// Texts and tokens are cut by default, which conversations are not: they stay whole then.
const CarryRule kChatInputCarry(typeid(ChatInput), "", [](const AnyConfig& old, const ConfigType&) {
  const auto keep_whole = [](auto* input) {
    if (input && input->packing == Packing::kCut) input->packing = Packing::kWhole;
  };
  keep_whole(old.get_if<TextInput::Config>());
  keep_whole(old.get_if<TokenInput::Config>());
});

}  // namespace

}  // namespace axle
