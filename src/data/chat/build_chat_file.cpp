#include "data/chat/build_chat_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "data/chat/chat_records.h"
#include "data/chat/prepared_conversation.h"
#include "data/chat/prepared_pair.h"
#include "data/chat/template_facts.h"
#include "data/text_source.h"
#include "data/tokenizers/open_tokenizer.h"

namespace axle {
namespace {

class MadeChat final : public RecordReader {
 public:
  MadeChat(const ChatMaker& maker, const std::string& path)
      : maker_(maker), path_(path), reader_(path) {}
  std::optional<RawDocument> next() override { return reader_.next(); }
  EncodedRecord encode(RawDocument record) const override {
    return maker_.encode(path_, std::move(record));
  }

 private:
  const ChatMaker& maker_;
  std::string path_;
  ChatReader reader_;
};

}  // namespace

ChatMaker::ChatMaker(ChatBuild build, std::unique_ptr<Tokenizer> tokenizer)
    : build_(std::move(build)),
      tokenizer_(std::move(tokenizer)),
      chat_(chat_template_or_plain(*tokenizer_, build_.chat_template, build_.template_field)),
      sizes_(*tokenizer_) {}

std::vector<std::string> ChatMaker::files(const std::vector<std::string>& sources,
                                          SkipLog& skips) const {
  std::vector<std::string> named;
  for (const std::string& source : sources) {
    for (std::string& path : named_texts(source, build_.sources_field))
      named.push_back(std::move(path));
  }
  std::vector<std::string> out = chat_files(named, skips);
  if (out.empty()) throw DataError(nothing(skips.skipped()));
  return out;
}

std::unique_ptr<RecordReader> ChatMaker::open(const std::string& path) const {
  return std::make_unique<MadeChat>(*this, path);
}

std::string ChatMaker::settings() const {
  return fmt::format("template {:x}, format {}, learned {}, too_long {}, seq_len {}",
                     chat_.fingerprint(), to_text(build_.format), to_text(build_.learned),
                     to_text(build_.too_long), build_.seq_len ? *build_.seq_len : 0);
}

std::string ChatMaker::job() const { return to_text(build_.unit) + " " + settings(); }

TokenCard ChatMaker::card() const {
  return {.begins = false,
          .ends = false,
          .field = build_.unit == ChatUnit::kPair ? "chosen, rejected" : "messages",
          .unit = to_text(build_.unit),
          .learned = LearnedCard{.settings = settings(),
                                 .chat_template = chat_.source(),
                                 .spelled_ends = spelled_ends(chat_, *tokenizer_)}};
}

std::string ChatMaker::nothing(const Skipped& skipped) const {
  const bool is_pair = build_.unit == ChatUnit::kPair;
  std::string what = is_pair ? "pairs of answers" : "conversations with answers";
  if (build_.seq_len) {
    what += fmt::format(" {} at most {}", is_pair ? "that take" : "of",
                        counted(*build_.seq_len, "position"));
  }
  return fmt::format("{}: expected {}, got none{}{}", build_.where, what,
                     skipped.count > 0 ? "; " : "", to_text(skipped));
}

EncodedRecord ChatMaker::encode(const std::string& path, RawDocument record) const {
  const std::string where = fmt::format("{}:{}", path, record.line);
  if (std::ssize(record.bytes) > build_.work.batch_bytes) {
    check_host_allocation(where, "the ids of a conversation",
                          tokenizer_->encode_memory(record.bytes));
  }
  EncodedRecord out;
  try {
    const std::string text = conversation_in(record, build_.format);
    record.bytes = {};
    const Document document{text, where};
    out = build_.unit == ChatUnit::kPair ? of_pair(document) : of_conversation(document);
  } catch (const JsonError& error) {
    out = {.reason = "no conversation", .message = fmt::format("{}: {}", where, error.what())};
  }
  out.where = where;
  return out;
}

EncodedRecord ChatMaker::of_conversation(const Document& document) const {
  const ConversationPreparer preparer(
      {.learned = build_.learned, .too_long = build_.too_long, .seq_len = build_.seq_len},
      *tokenizer_, chat_);
  PreparedConversation one = preparer.prepare(document);
  EncodedRecord out{.reason = std::move(one.reason),
                    .where = document.where,
                    .message = std::move(one.message),
                    .is_unfit = true,
                    .remarks = one.remarks};
  if (out.reason.empty()) add(one.tokens, one.text, out);
  return out;
}

EncodedRecord ChatMaker::of_pair(const Document& document) const {
  PreparedPair one = PairPreparer(build_.seq_len, *tokenizer_, chat_).prepare(document);
  EncodedRecord out{.reason = std::move(one.reason),
                    .where = document.where,
                    .message = std::move(one.message),
                    .is_unfit = true,
                    .remarks = one.remarks};
  if (out.reason.empty()) add(one.chosen, one.chosen_text, out);
  if (out.reason.empty()) add(one.rejected, one.rejected_text, out);
  return out;
}

void ChatMaker::add(const LearnedTokens& tokens, const std::string& text,
                    EncodedRecord& out) const {
  if (build_.model_vocab_size) {
    out.message = problem_of_ids(tokens.ids, out.where, *tokenizer_,
                                 tokenizer_name(build_.work.tokenizer), *build_.model_vocab_size);
    if (!out.message.empty()) {
      out.reason = "with tokens that the model lacks";
      return;
    }
  }
  const TextOfIds::Sizes sizes = sizes_.sizes_of(tokens.ids, text);
  out.documents.push_back({.ids = tokens.ids,
                           .is_learned = tokens.is_learned,
                           .text_bytes = sizes.text_bytes,
                           .piece_bytes = sizes.piece_bytes});
}

TokenBuildResult build_chat_file(const ChatMaker& maker, const TokenBuildHooks& hooks) {
  return make_token_file(maker.build().work, maker, hooks);
}

}  // namespace axle
