// Makes token files from conversations and from pairs of answers, with flags for what is learned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "data/chat/chat_input.h"
#include "data/chat/chat_template.h"
#include "data/chat/learned_text.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/make_token_file.h"
#include "data/token_files/token_input.h"

namespace axle {

/// Bytes of records that are encoded together: conversations take more memory while they are
/// rendered than texts do.
inline constexpr int64_t kChatBatchBytes = int64_t{1} << 20;

/// What a record of a chat is.
enum class ChatUnit {
  kConversation,  // one document
  kPair,          // two documents: the conversation with the chosen answer, then with the rejected
};
constexpr auto texts_of(ChatUnit) {
  return std::to_array<EnumText<ChatUnit>>(
      {{ChatUnit::kConversation, "conversation"}, {ChatUnit::kPair, "pair"}});
}

/// What to make.
struct ChatBuild {
  TokenWork work;          // its sources are as in a ChatSource
  std::string where = {};  // what messages call the sources
  std::string sources_field = "SOURCES";
  ChatUnit unit = ChatUnit::kConversation;
  ChatFormat format = ChatFormat::kAuto;
  std::optional<std::string> chat_template = {};  // as ChatInput has it
  std::string template_field = "--chat-template";
  Learned learned = Learned::kAssistant;  // of conversations
  LongConversations too_long = LongConversations::kCut;
  /// Positions of a row that a document, or a pair, must fit into. None: any length.
  std::optional<int64_t> seq_len = {};
  std::optional<int64_t> model_vocab_size = {};  // none: that of the tokenizer
};

/// Renders and encodes what a ChatBuild names.
class ChatMaker final : public TokenMaker {
 public:
  /// `tokenizer` is that of the build. Throws as find_chat_template() does.
  ChatMaker(ChatBuild build, std::unique_ptr<Tokenizer> tokenizer);

  const ChatBuild& build() const { return build_; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::vector<std::string> files(const std::vector<std::string>& sources,
                                 SkipLog& skips) const override;
  std::unique_ptr<RecordReader> open(const std::string& path) const override;
  std::string job() const override;
  TokenCard card() const override;
  std::string nothing(const Skipped& skipped) const override;

  /// Encodes the record of a file.
  EncodedRecord encode(const std::string& path, RawDocument record) const;

 private:
  std::string settings() const;
  EncodedRecord of_conversation(const Document& document) const;
  EncodedRecord of_pair(const Document& document) const;
  void add(const LearnedTokens& tokens, const std::string& text, EncodedRecord& out) const;

  ChatBuild build_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ChatTemplate chat_;
  TextOfIds sizes_;
};

/// Builds what the maker's ChatBuild says. Throws as make_token_file() and the maker's template do.
TokenBuildResult build_chat_file(const ChatMaker& maker, const TokenBuildHooks& hooks = {});

// Conversations and pairs that are too large for the memory: their tokens lie in a token file that
// is made once.

/// True if the files of a ChatSource have more than `memory_bytes`. False too if they are not
/// there.
bool is_streamed(const Child<Source>& source, int64_t memory_bytes);

/// Makes the token file of a ChatSource, or finds it (TokenCache). `build` says what is made, but
/// for what the source and `whom` say. Throws as ChatMaker and build_chat_file() do; StorageError
/// if the cache folder can't be written.
MadeTokens tokens_of_chat(ChatBuild build, const ChatSource::Config& source, const MadeFor& whom);

/// The rows of a ChatInput or a PreferenceInput of large files: the rows of a TokenInput, whose
/// file build_chat_file() makes in the user's cache folder at the first start (TokenCache). A
/// process that ends early has done a part of it.
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
