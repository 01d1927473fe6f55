// Conversations and pairs that are too large for the memory: their tokens lie in a token file that
// is made once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/build_chat_file.h"
#include "data/chat/preference_input.h"
#include "data/token_files/made_tokens.h"
#include "data/token_files/token_input.h"

namespace axle {

/// True if the files of a ChatSource have more than `memory_bytes`. False too if they are not
/// there.
bool is_streamed(const Child<Source>& source, int64_t memory_bytes);

/// Makes the token file of a ChatSource, or finds it (TokenCache). `build` says what is made, but
/// for what the source and `whom` say. Throws as ChatMaker and build_chat_file() do; StorageError
/// if the cache folder can't be written.
MadeTokens tokens_of_chat(ChatBuild build, const ChatSource::Config& source, const MadeFor& whom);

/// The rows of a ChatInput or a PreferenceInput of large files: those of a TokenInput, whose file
/// build_chat_file() makes in the user's cache folder at the first start (TokenCache). A process
/// that ends early has done a part of it.
///
/// Memory: that of build_chat_file(), then that of TokenInput.
class StreamedChat final : public Input {
 public:
  /// Throw as the inputs do; StorageError if the cache folder can't be written.
  StreamedChat(const ChatInput::Config& cfg, const Dims& dims, const Scope& scope);
  StreamedChat(const PreferenceInput::Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return rows_->element_spec(); }
  std::optional<Batch> next() override { return rows_->next(); }
  std::string state() const override { return rows_->state(); }
  void restore(std::string_view state) override { rows_->restore(state); }
  InputFacts facts() const override { return facts_; }
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override {
    return rows_->origins_of_batch(batch);
  }

 private:
  // Makes the tokens, or finds them, and opens the rows, whose source has this name.
  void open(ChatBuild build, const ChatSource::Config& source, TokenInput::Config rows,
            const std::string& name, const Dims& dims, const Scope& scope);

  std::unique_ptr<TokenInput> rows_;
  InputFacts facts_;
};

}  // namespace axle
