// Makes token files from conversations and from pairs of answers, with flags for what is learned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text/enum_text.h"
#include "data/chat/chat_input.h"
#include "data/chat/chat_template.h"
#include "data/chat/learned_documents.h"
#include "data/token_files/make_token_file.h"

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
  TokenWork work;          // its sources are those of a ChatSource
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

}  // namespace axle
