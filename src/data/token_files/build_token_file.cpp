#include "data/token_files/build_token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/folders.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "data/source.h"
#include "data/text_source.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/token_card.h"
#include "data/tokenizers/tokenizer.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "io/file_reader.h"

namespace axle {

namespace fs = std::filesystem;

TokenCache::TokenCache(const std::string& what, const std::vector<std::string>& files,
                       std::string where, const std::string& otherwise)
    : where_(std::move(where)) {
  const fs::path cache = user_cache_folder();
  if (cache.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected a folder for the tokens, got none; set XDG_CACHE_HOME{}", where_, otherwise));
  }
  std::string all = what, states;
  for (const std::string& path : files) {
    all += "\n" + fs::absolute(path).lexically_normal().string();
    states += state_of_file(path) + "\n";
  }
  folder_ = cache / "tokens" / fmt::format("{:016x}", xxh3_64(all));
  state_ = fmt::format("{:016x}", xxh3_64(states));
}

void TokenCache::ensure(const std::function<void()>& make) const {
  if (path_exists(token_card_path(prefix()))) return;
  make_directories(folder_);
  bool is_told = false;
  const FileLock lock(folder_ / "lock", [&](const std::string& holder) {
    if (!std::exchange(is_told, true))
      report_to_stderr(fmt::format("{}: waiting for {}, which encodes the text", where_, holder));
    return true;
  });
  if (path_exists(token_card_path(prefix()))) return;
  remove_others();
  make();
}

void TokenCache::remove_others() const {
  for (const fs::path& entry : list_directory(folder_)) {
    const std::string name = entry.filename().string();
    if (name != "lock" && !name.starts_with(state_)) remove_tree(entry);
  }
}

std::string MadeFor::or_in_memory(int64_t num_bytes) const {
  if (!has_memory) return "";
  return fmt::format(", or keep them in memory by --set {}.memory_bytes={}", input, num_bytes);
}

void add_made(const MadeTokens& made, InputFacts& facts) {
  const auto card = read_token_card(made.prefix);
  facts.num_files +=
      std::ranges::count_if(card->sources,
                            [](const HashedFile& file) { return file.num_documents > 0; }) -
      1;
  SkipLog skips(OnError::kSkip, "");
  skips.add(made.skipped);
  skips.add(card->skipped);
  skips.add(facts.skipped);
  facts.skipped = skips.skipped();
}

namespace {

constexpr double kReportSecs = 30;

}  // namespace

void EncodingReport::add(const TokenBuildProgress& progress) {
  if (num_reports_ == 0) {
    report_to_stderr(fmt::format("{}: encoding {} of {}, once; its tokens stay in {}", where_,
                                 bytes_text(num_bytes_), what_,
                                 text_of_path(cache_.folder().string())));
    num_reports_ = 1;
  }
  if (seconds_since(start_) < kReportSecs * num_reports_) return;
  ++num_reports_;
  report_to_stderr(fmt::format("{}: encoded {} of {}, in {} of {} done", where_,
                               bytes_text(progress.text_bytes), what_, progress.num_files_done,
                               counted(progress.num_files, "file")));
}

void EncodingReport::end() const {
  if (num_reports_ == 0) return;
  report_to_stderr(fmt::format("{}: encoded {} in {}", where_, bytes_text(num_bytes_),
                               duration_text(seconds_since(start_))));
}

namespace {

class TextMaker final : public TokenMaker {
 public:
  explicit TextMaker(const TokenBuild& build)
      : build_(build),
        tokenizer_(build.tokenizer.build({}, {.path = "tokenizer"})),
        special_(boundary_ids(tokenizer_->special_ids(), build.begins, build.ends)),
        names_(*tokenizer_) {
    for (int64_t id = 0; id < tokenizer_->vocab_size(); ++id)
      piece_sizes_.push_back(std::ssize(tokenizer_->piece(static_cast<int32_t>(id))));
  }

  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  std::vector<std::string> files(const std::vector<std::string>& sources,
                                 SkipLog& skips) const override {
    return corpus_files(sources, build_.sources_field, skips);
  }
  std::unique_ptr<RecordReader> open(const std::string& path) const override;

  // What was left out of an unfinished build stays so: another policy may continue it.
  std::string job() const override {
    std::string out =
        fmt::format("{} {} {} {}", to_text(build_.unit), build_.begins, build_.ends, build_.field);
    if (build_.part_bytes) out += fmt::format(" parts of {}", *build_.part_bytes);
    return out;
  }
  TokenCard card() const override {
    return {.begins = build_.begins,
            .ends = build_.ends,
            .field = build_.field,
            .unit = std::string(to_text(build_.unit))};
  }
  std::string nothing(const Skipped& skipped) const override {
    return no_document(build_.sources, skipped);
  }

  EncodedRecord encode(CorpusText document) const {
    EncodedRecord out{.reason = std::move(document.reason),
                      .where = std::move(document.where),
                      .message = std::move(document.message)};
    if (!out.reason.empty()) return out;
    const std::string text = std::exchange(document.text, {});
    if (std::ssize(text) > build_.batch_bytes) check_fits(out.where, text);
    EncodedDocument& one = out.documents.emplace_back();
    if (special_.bos && document.begins) one.ids.push_back(*special_.bos);
    const std::vector<int32_t> ids = tokenizer_->encode(text);
    one.ids.insert(one.ids.end(), ids.begin(), ids.end());
    if (special_.eos && document.ends) one.ids.push_back(*special_.eos);
    one.text_bytes = std::ssize(text);
    out.remarks[Remark::kNamed] = names_.stand_in(text);
    for (const int32_t id : ids) one.piece_bytes += piece_sizes_[id];
    return out;
  }
  const TokenBuild& build() const { return build_; }

 private:
  // The memory of a build is that of a batch, but for documents that are larger than one.
  void check_fits(const std::string& where, std::string_view text) const {
    try {
      check_host_allocation(where,
                            fmt::format("the ids of {} of text", bytes_text(std::ssize(text))),
                            tokenizer_->encode_memory(text));
    } catch (const Error& error) {
      throw Error(
          fmt::format("{}; split the document, or read it by lines or paragraphs", error.what()),
          error.code());
    }
  }

  const TokenBuild& build_;
  std::unique_ptr<Tokenizer> tokenizer_;
  SpecialIds special_;
  SpecialNames names_;
  std::vector<int64_t> piece_sizes_;
};

class TextRecords final : public RecordReader {
 public:
  TextRecords(const TextMaker& maker, const std::string& path)
      : maker_(maker),
        path_(path),
        reader_(path, CorpusFormat{maker.build().field, maker.build().unit,
                                   maker.build().only_plain_text, maker.build().part_bytes}) {}

  std::optional<RawDocument> next() override { return reader_.next(); }
  EncodedRecord encode(RawDocument record) const override {
    return maker_.encode(
        corpus_text(path_, std::move(record), reader_.is_json(), maker_.build().field));
  }

 private:
  const TextMaker& maker_;
  std::string path_;
  CorpusReader reader_;
};

// Conversations under a name of texts would be learned as their JSON.
void check_holds_text(const std::string& path) {
  if (names_records(path) || format_ending(path) == ".parquet") return;
  std::string head(size_t{64} << 10, '\0');
  head.resize(open_stream(path)->read(head));
  if (hold_json_lines(head))
    throw NotText(fmt::format("{}: expected text, got lines of JSON; {}", path, kNamesOfRecords),
                  "JSON");
}

std::unique_ptr<RecordReader> TextMaker::open(const std::string& path) const {
  if (!build_.only_plain_text) check_holds_text(path);
  return std::make_unique<TextRecords>(*this, path);
}

}  // namespace

TokenBuildResult build_token_file(const TokenBuild& build, const TokenBuildHooks& hooks) {
  const TextMaker maker(build);
  return make_token_file({.sources = build.sources,
                          .tokenizer = build.tokenizer,
                          .tokenizer_path = build.tokenizer_path,
                          .prefix = build.prefix,
                          .on_error = build.on_error,
                          .on_error_field = build.on_error_field,
                          .batch_bytes = build.batch_bytes,
                          .save_secs = build.save_secs},
                         maker, hooks);
}

}  // namespace axle
