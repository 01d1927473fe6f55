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
          .where = scope.path + ".source",
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

void StreamedChat::open(ChatBuild build, const ChatSource::Config& source, TokenInput::Config rows,
                        const std::string& name, const Dims& dims, const Scope& scope) {
  auto tokenizer = rows.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  const uint64_t fingerprint = tokenizer->fingerprint();
  const ChatFiles files = files_of(source, source.on_error, build.where);
  build.format = source.format;
  build.work.on_error = source.on_error;
  build.work.on_error_field = build.where + ".on_error";
  for (const std::string& path : files.paths) build.work.sources.push_back(text_of_path(path));
  const ChatMaker settled(build, std::move(tokenizer));
  const TokenCache cache(
      fmt::format("{:x} {} {} {} {} {}", fingerprint, settled.job(), dims.vocab_size,
                  to_text(build.work.on_error), to_text(build.work.on_unfit), ChatReader::kRules),
      files.paths, scope.path,
      fmt::format(", or keep them in memory by --set {}.memory_bytes={}", scope.path,
                  files.num_bytes));
  cache.ensure([&] {
    TokenWork work = build.work;
    work.prefix = cache.prefix();
    EncodingReport report(scope.path, name, cache, files.num_bytes);
    make_token_file(work, settled, {.report = [&](const TokenBuildProgress& p) { report.add(p); }});
    report.end();
  });
  rows.sources[name].path = cache.prefix();
  rows_ = std::make_unique<TokenInput>(rows, dims, scope);
  facts_ = rows_->facts();
  const auto card = read_token_card(cache.prefix());
  facts_.num_files = std::ranges::count_if(
      card->sources, [](const HashedFile& file) { return file.num_documents > 0; });
  facts_.num_cut = card->learned->num_cut;
  facts_.num_unwritten = card->learned->num_unwritten;
  SkipLog skips(OnError::kSkip, "");
  skips.add(files.skipped);
  skips.add(card->skipped);
  facts_.skipped = skips.skipped();
}

}  // namespace axle
