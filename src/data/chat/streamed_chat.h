// Conversations that are too large for the memory: their tokens lie in a token file that is made
// once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_input.h"
#include "data/token_files/token_input.h"

namespace axle {

/// True if the files of an input's ChatSource are larger than its memory_bytes. False too if they
/// are not there.
bool is_streamed(const ChatInput::Config& cfg);

/// The rows of a ChatInput of many conversations: those of a TokenInput, whose file is made in the
/// user's cache folder at the first start (TokenCache). PREFIX.learned.bin and .idx beside it hold
/// a flag for each id: whether it is learned.
///
/// Memory: 512 conversations with their tokens while the file is made, then that of TokenInput.
class StreamedChat final : public Input {
 public:
  /// Throws as ChatInput does; StorageError if the cache folder can't be written.
  StreamedChat(const ChatInput::Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return rows_->element_spec(); }
  std::optional<Batch> next() override { return rows_->next(); }
  std::string state() const override { return rows_->state(); }
  void restore(std::string_view state) override { rows_->restore(state); }
  InputFacts facts() const override { return facts_; }
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override {
    return rows_->origins_of_batch(batch);
  }

 private:
  std::unique_ptr<TokenInput> rows_;
  InputFacts facts_;
};

}  // namespace axle
