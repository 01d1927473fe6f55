#include "data/chat/streamed_chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/report.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "data/chat/chat_records.h"
#include "data/chat/learned_documents.h"
#include "data/chat/prepared_conversation.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/corpus_text.h"
#include "data/token_files/token_cache.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"
#include "io/token_file.h"
#include "io/user_path.h"

namespace axle {
namespace {

constexpr double kReportSecs = 30;

std::vector<std::string> named_in(const ChatSource::Config& source, const std::string& where) {
  return named_texts(source.path.get(), source.more_paths, where);
}

int64_t bytes_of(std::span<const std::string> files) {
  int64_t out = 0;
  for (const int64_t bytes : sizes_of_files(files)) out += bytes;
  return out;
}

// What an input has counted, which the card of a token file has no place for.
struct ChatCounts {
  int64_t num_cut = 0, num_left_out = 0;
};
std::string counts_path(const std::string& prefix) { return prefix + ".chat.json"; }

// Makes the token file of conversations, or finds it.
class ChatTokens {
 public:
  ChatTokens(const ChatInput::Config& cfg, const Tokenizer& tokenizer, const Input::Dims& dims,
             const Scope& scope)
      : cfg_(cfg),
        tokenizer_(tokenizer),
        where_(scope.path),
        chat_(template_of(cfg, tokenizer, where_)),
        source_(*cfg.source.get_if<ChatSource>()),
        skips_(cfg.on_error, where_ + ".on_error"),
        source_skips_(source_.on_error, where_ + ".source.on_error"),
        records_(named_in(source_, where_ + ".source"), source_.format, source_skips_),
        num_bytes_(bytes_of(records_.files())),
        learned_(tokenizer, tokenizer_name(cfg.tokenizer), dims.vocab_size),
        text_of_ids_(tokenizer),
        cache_(what(dims), records_.files(), where_,
               fmt::format(", or keep them in memory by --set {}.memory_bytes={}", where_,
                           num_bytes_)) {}

  std::string prefix() const { return cache_.prefix(); }
  void ensure() {
    cache_.ensure([&] { make(); });
  }
  ChatCounts counts() const {
    return json_as<DataError>(counts_path(prefix()), [&] {
      const auto json = read_json(read_file(counts_path(prefix())));
      const JsonView view(json);
      return ChatCounts{.num_cut = view.at("cut").integer(0, INT64_MAX),
                        .num_left_out = view.at("left_out").integer(0, INT64_MAX)};
    });
  }

 private:
  static ChatTemplate template_of(const ChatInput::Config& cfg, const Tokenizer& tokenizer,
                                  const std::string& where) {
    auto own = find_chat_template(tokenizer, cfg.chat_template, where + ".chat_template");
    return own ? std::move(*own) : plain_chat_template(tokenizer);
  }

  // All that determines the tokens, but the content of the files.
  std::string what(const Input::Dims& dims) const {
    return fmt::format("chat {:x} {:x} {} {} {} {} {} {} {}", tokenizer_.fingerprint(),
                       chat_.fingerprint(), int64_t{cfg_.seq_len}, dims.vocab_size,
                       to_text(cfg_.learned), to_text(cfg_.too_long), to_text(cfg_.on_error),
                       to_text(source_.on_error), to_text(source_.format));
  }

  void make() {
    report_to_stderr(fmt::format("{}: encoding {} of conversations, once; their tokens stay in {}",
                                 where_, bytes_text(num_bytes_),
                                 text_of_path(cache_.folder().string())));
    const std::string folder = prefix() + ".part", parts = folder + "/tokens";
    remove_tree(folder);
    make_directories(folder);
    try {
      write(parts);
    } catch (...) {
      remove_tree(folder);
      throw;
    }
    for (const char* part : {".learned.bin", ".learned.idx", ".chat.json", ".bin", ".idx", ".json"})
      rename_durably(parts + part, prefix() + part);
    remove_tree(folder);
    report_to_stderr(fmt::format("{}: encoded {} in {}", where_, bytes_text(num_bytes_),
                                 duration_text(seconds_since(start_))));
  }

  void write(const std::string& parts) {
    TokenFileWriter ids(parts, token_dtype(tokenizer_.vocab_size()));
    TokenFileWriter flags(learned_prefix(parts), DType::kU8);
    ids_ = &ids;
    flags_ = &flags;
    for (const std::string& file : records_.files()) take_file(file);
    if (ids.counts().num_documents == 0) {
      throw DataError(
          fmt::format("{}.source: expected conversations with answers of at most {}, got none; {}",
                      where_, counted(cfg_.seq_len, "position"), to_text(all_skipped())));
    }
    ids.finish();
    flags.finish();
    write_cards(parts, ids.counts());
  }

  void take_file(const std::string& file) {
    const int64_t before = ids_->counts().num_documents;
    records_.read(file, [&](std::string conversation, std::string where) {
      texts_.push_back(std::move(conversation));
      wheres_.push_back(std::move(where));
      if (texts_.size() == kConversationsAtOnce) flush();
    });
    flush();
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file, error);
    sources_.push_back({.path = text_of_path(file),
                        .num_bytes = error ? 0 : static_cast<int64_t>(bytes),
                        .num_documents = ids_->counts().num_documents - before});
  }

  void flush() {
    std::vector<Document> documents;
    for (size_t i = 0; i < texts_.size(); ++i) documents.push_back({texts_[i], wheres_[i]});
    const auto prepared = ConversationPreparer(cfg_, tokenizer_, chat_).prepare(documents);
    for (size_t i = 0; i < prepared.size(); ++i) add(prepared[i], wheres_[i]);
    texts_.clear();
    wheres_.clear();
    if (seconds_since(start_) < kReportSecs * (num_reports_ + 1)) return;
    ++num_reports_;
    report_to_stderr(fmt::format("{}: encoded {}", where_,
                                 counted(ids_->counts().num_documents, "conversation")));
  }

  void add(const PreparedConversation& one, const std::string& where) {
    if (!one.message.empty()) return skips_.refuse(one.reason, where, one.message);
    if (!one.reason.empty()) return skips_.skip(one.reason, where);
    if (const std::string problem = learned_.problem_of(one.tokens, where); !problem.empty())
      return skips_.refuse("with tokens that the model lacks", where, problem);
    ids_->add(one.tokens.ids);
    flags_->add(std::vector<int32_t>(one.tokens.is_learned.begin(), one.tokens.is_learned.end()));
    text_of_ids_.add(one.tokens.ids, one.text);
    counts_.num_cut += one.is_cut;
    counts_.num_left_out += one.num_left_out;
  }

  Skipped all_skipped() const {
    SkipLog all(OnError::kSkip, "");
    all.add(source_skips_.skipped());
    all.add(skips_.skipped());
    return all.skipped();
  }

  void write_cards(const std::string& parts, const TokenCounts& counts) const {
    const nlohmann::ordered_json chat = {{"cut", counts_.num_cut},
                                         {"left_out", counts_.num_left_out}};
    replace_file(counts_path(parts), chat.dump() + "\n");
    const auto hashed = [&](const std::string& part) {
      const std::filesystem::path file = path_of_text(prefix() + part);
      return HashedFile{.path = file.filename().string(),
                        .num_bytes = static_cast<int64_t>(std::filesystem::file_size(parts + part)),
                        .sha256 = sha256_of_file(parts + part)};
    };
    const TokenCard card{.tokenizer = {.class_name = std::string(cfg_.tokenizer.any().type().name),
                                       .path = {},
                                       .fingerprint = tokenizer_.fingerprint(),
                                       .vocab_size = tokenizer_.vocab_size(),
                                       .special = tokenizer_.special_ids()},
                         .begins = false,
                         .ends = false,
                         .field = "messages",
                         .unit = "conversation",
                         .num_documents = counts.num_documents,
                         .num_tokens = counts.num_tokens,
                         .text_bytes = text_of_ids_.text_bytes(),
                         .piece_bytes = text_of_ids_.piece_bytes(),
                         .ids = hashed(".bin"),
                         .index = hashed(".idx"),
                         .sources = sources_,
                         .skipped = all_skipped()};
    replace_file(token_card_path(parts), text_of_card(card));
  }

  const ChatInput::Config& cfg_;
  const Tokenizer& tokenizer_;
  std::string where_;
  ChatTemplate chat_;
  const ChatSource::Config& source_;
  SkipLog skips_, source_skips_;
  ChatRecords records_;
  int64_t num_bytes_;
  LearnedDocuments learned_;  // only asked whether the model has a row for each id
  TextOfIds text_of_ids_;
  TokenCache cache_;
  TokenFileWriter *ids_ = nullptr, *flags_ = nullptr;
  std::vector<std::string> texts_, wheres_;  // that are not encoded yet
  std::vector<HashedFile> sources_;
  ChatCounts counts_;
  Clock::time_point start_ = Clock::now();
  int num_reports_ = 0;
};

}  // namespace

bool is_streamed(const ChatInput::Config& cfg) {
  const auto* const source = cfg.source.get_if<ChatSource>();
  if (!source || !source->path.has_value()) return false;
  try {
    SkipLog skips(OnError::kSkip, "");
    const ChatRecords records(named_in(*source, ""), source->format, skips);
    return bytes_of(records.files()) > cfg.memory_bytes;
  } catch (const DataError&) {
    return false;  // the source says what is wrong
  }
}

StreamedChat::StreamedChat(const ChatInput::Config& cfg, const Dims& dims, const Scope& scope) {
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  ChatTokens tokens(cfg, *tokenizer, dims, scope);
  tokens.ensure();
  TokenInput::Config rows{.tokenizer = cfg.tokenizer,
                          .seq_len = cfg.seq_len,
                          .batch_size = cfg.batch_size,
                          .shuffle = cfg.shuffle,
                          .epochs = cfg.epochs,
                          .split = cfg.split,
                          .held_out_fraction = cfg.held_out_fraction,
                          .packing = cfg.packing};
  rows.sources["conversations"].path = tokens.prefix();
  rows_ = std::make_unique<TokenInput>(rows, dims, scope);
  facts_ = rows_->facts();
  const auto card = read_token_card(tokens.prefix());
  facts_.num_files = std::ranges::count_if(
      card->sources, [](const HashedFile& file) { return file.num_documents > 0; });
  facts_.skipped = card->skipped;
  const ChatCounts counts = tokens.counts();
  facts_.num_cut = counts.num_cut;
  facts_.num_unwritten = counts.num_left_out;
}

}  // namespace axle
