#include "data/chat/preference_input.h"

#include "config/register.h"
#include "data/chat/preference_in_memory.h"
#include "data/chat/streamed_chat.h"

namespace axle {

PreferenceInput::PreferenceInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  if (is_streamed(cfg.source, cfg.memory_bytes))
    rows_ = std::make_unique<StreamedChat>(cfg, dims, scope);
  else
    rows_ = std::make_unique<PreferenceInMemory>(cfg, dims, scope);
}

AXLE_REGISTER(PreferenceInput)

}  // namespace axle
