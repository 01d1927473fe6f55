#include "data/chat/streamed_chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/chat/chat_records.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/corpus_text.h"
#include "data/token_files/encoding_report.h"
#include "data/token_files/token_cache.h"
#include "io/user_path.h"

namespace axle {
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
