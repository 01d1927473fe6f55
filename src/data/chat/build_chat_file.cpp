#include "data/chat/build_chat_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/json.h"
#include "base/text/text_table.h"
#include "data/chat/chat_input.h"
#include "data/chat/chat_source.h"
#include "data/chat/chat_template.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/corpus_reader.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"

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

namespace {

struct ChatFiles {
  std::vector<std::string> paths;
  int64_t num_bytes = 0;
  Skipped skipped = {};
};

ChatFiles files_of(const ChatSource::Config& source, OnError on_error, const std::string& where) {
  SkipLog skips(on_error, where + ".on_error");
  ChatFiles out;
  out.paths = chat_files(named_texts(source.path.get(), source.more_paths, where), skips);
  for (const int64_t bytes : sizes_of_files(out.paths)) out.num_bytes += bytes;
  out.skipped = skips.skipped();
  return out;
}

// What the fields that both inputs have say of their rows.
template <class Config>
TokenInput::Config rows_of(const Config& cfg, Packing packing) {
  return {.tokenizer = cfg.tokenizer,
          .seq_len = cfg.seq_len,
          .batch_size = cfg.batch_size,
          .shuffle = cfg.shuffle,
          .epochs = cfg.epochs,
          .split = cfg.split,
          .held_out_fraction = cfg.held_out_fraction,
          .packing = packing};
}

template <class Config>
ChatBuild build_of(const Config& cfg, const Input::Dims& dims, const Scope& scope) {
  return {.work = {.tokenizer = cfg.tokenizer,
                   .on_unfit = cfg.on_error,
                   .on_unfit_field = scope.path + ".on_error",
                   .batch_bytes = kChatBatchBytes},
          .chat_template = cfg.chat_template,
          .template_field = scope.path + ".chat_template",
          .seq_len = cfg.seq_len,
          .model_vocab_size = dims.vocab_size};
}

}  // namespace

bool is_streamed(const Child<Source>& source, int64_t memory_bytes) {
  const auto* const chat = source.get_if<ChatSource>();
  if (!chat || !chat->path.has_value()) return false;
  try {
    return files_of(*chat, OnError::kSkip, "").num_bytes > memory_bytes;
  } catch (const DataError&) {
    return false;  // the source says what is wrong
  }
}

StreamedChat::StreamedChat(const ChatInput::Config& cfg, const Dims& dims, const Scope& scope) {
  ChatBuild build = build_of(cfg, dims, scope);
  build.learned = cfg.learned;
  build.too_long = cfg.too_long;
  open(std::move(build), *cfg.source.get_if<ChatSource>(), rows_of(cfg, cfg.packing),
       "conversations", dims, scope);
}

StreamedChat::StreamedChat(const PreferenceInput::Config& cfg, const Dims& dims,
                           const Scope& scope) {
  ChatBuild build = build_of(cfg, dims, scope);
  build.unit = ChatUnit::kPair;
  open(std::move(build), *cfg.source.get_if<ChatSource>(), rows_of(cfg, Packing::kPairs), "pairs",
       dims, scope);
}

MadeTokens tokens_of_chat(ChatBuild build, const ChatSource::Config& source, const MadeFor& whom) {
  auto tokenizer = build.work.tokenizer.build({}, {.path = whom.input + ".tokenizer"});
  const uint64_t fingerprint = tokenizer->fingerprint();
  const ChatFiles files = files_of(source, source.on_error, whom.source);
  build.where = whom.source;
  build.sources_field = whom.source + ".path";
  build.format = source.format;
  build.work.on_error = source.on_error;
  build.work.on_error_field = whom.source + ".on_error";
  for (const std::string& path : files.paths) build.work.sources.push_back(text_of_path(path));
  const ChatMaker settled(build, std::move(tokenizer));
  const TokenCache cache(
      fmt::format("{:x} {} {} {} {} {}", fingerprint, settled.job(),
                  build.model_vocab_size.value_or(0), to_text(build.work.on_error),
                  to_text(build.work.on_unfit), ChatReader::kRules),
      files.paths, whom.input, whom.or_in_memory(files.num_bytes));
  cache.ensure([&] {
    TokenWork work = build.work;
    work.prefix = cache.prefix();
    EncodingReport report(whom.input, build.unit == ChatUnit::kPair ? "pairs" : "conversations",
                          cache, files.num_bytes);
    make_token_file(work, settled, {.report = [&](const TokenBuildProgress& p) { report.add(p); }});
    report.end();
  });
  return {.prefix = cache.prefix(), .skipped = files.skipped};
}

void StreamedChat::open(ChatBuild build, const ChatSource::Config& source, TokenInput::Config rows,
                        const std::string& name, const Dims& dims, const Scope& scope) {
  check_vocabulary(*rows.tokenizer.build({}, {.path = scope.path + ".tokenizer"}), dims.vocab_size,
                   scope.path);
  const MadeTokens tokens =
      tokens_of_chat(std::move(build), source,
                     {.input = scope.path, .source = scope.path + ".source", .has_memory = true});
  rows.sources[name].path = tokens.prefix;
  rows_ = std::make_unique<TokenInput>(rows, dims, scope);
  facts_ = rows_->facts();
  add_made(tokens, facts_);
}

}  // namespace axle
