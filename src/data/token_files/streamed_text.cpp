#include "data/token_files/streamed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/report.h"
#include "base/text/units.h"
#include "data/text_files.h"
#include "data/token_files/build_progress.h"
#include "data/token_files/build_token_file.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "io/user_path.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr double kReportSecs = 30;

// Makes the token file of a text, or finds it.
class TextTokens {
 public:
  TextTokens(const TextInput::Config& cfg, uint64_t tokenizer, const Scope& scope)
      : where_(scope.path),
        source_(*cfg.source.get_if<TextSource>()),
        tokenizer_(cfg.tokenizer),
        skips_(source_.on_error, skips_field()),
        files_(named_texts(source_.path.get(), source_.more_paths, scope.path + ".source"),
               skips_) {
    const fs::path cache = user_cache_folder();
    if (cache.empty()) {
      throw ConfigError(fmt::format(
          "{}: expected a folder for the tokens of {} of text, got none; set XDG_CACHE_HOME, or "
          "keep them in memory by --set {}.memory_bytes={}",
          where_, bytes_text(files_.num_bytes()), where_, files_.num_bytes()));
    }
    std::string what = fmt::format("{:x} {} {} {}", tokenizer, to_text(source_.unit),
                                   to_text(source_.on_error), StreamedText::kPartBytes);
    std::string states;
    for (const std::string& path : files_.paths()) {
      what += "\n" + fs::absolute(path).lexically_normal().string();
      states += state_of_file(path) + "\n";
    }
    folder_ = cache / "tokens" / fmt::format("{:016x}", xxh3_64(what));
    state_ = fmt::format("{:016x}", xxh3_64(states));
  }

  std::string prefix() const { return folder_ / state_; }
  const Skipped& skipped() const { return skips_.skipped(); }

  void make() {
    if (path_exists(token_card_path(prefix()))) return;
    make_directories(folder_);
    bool is_told = false;
    const FileLock lock(folder_ / "lock", [&](const std::string& holder) {
      if (!std::exchange(is_told, true))
        report_to_stderr(fmt::format("{}: waiting for {}, which encodes the text", where_, holder));
      return true;
    });
    remove_others();
    TokenBuild build{.tokenizer = tokenizer_,
                     .prefix = prefix(),
                     .unit = source_.unit,
                     .on_error = source_.on_error,
                     .on_error_field = skips_field(),
                     .only_plain_text = true,
                     .part_bytes = StreamedText::kPartBytes};
    for (const std::string& path : files_.paths()) build.sources.push_back(text_of_path(path));
    build_token_file(build, {.report = [&](const TokenBuildProgress& p) { report(p); }});
    if (reports_ > 0) {
      report_to_stderr(fmt::format("{}: encoded {} in {}", where_, bytes_text(files_.num_bytes()),
                                   duration_text(seconds_since(start_))));
    }
  }

 private:
  std::string skips_field() const { return where_ + ".source.on_error"; }

  // The tokens of the text as it was before it changed.
  void remove_others() const {
    for (const fs::path& entry : list_directory(folder_)) {
      const std::string name = entry.filename().string();
      if (name != "lock" && !name.starts_with(state_)) remove_tree(entry);
    }
  }

  void report(const TokenBuildProgress& progress) {
    const std::string all = bytes_text(files_.num_bytes());
    if (reports_ == 0) {
      report_to_stderr(fmt::format("{}: encoding {} of text, once; its tokens stay in {}", where_,
                                   all, text_of_path(folder_.string())));
      reports_ = 1;
    }
    if (seconds_since(start_) < kReportSecs * reports_) return;
    ++reports_;
    report_to_stderr(
        fmt::format("{}: encoded {} of {}", where_, bytes_text(progress.text_bytes), all));
  }

  std::string where_;
  const TextSource::Config& source_;
  const Child<Tokenizer>& tokenizer_;
  SkipLog skips_;
  TextFiles files_;
  fs::path folder_;
  std::string state_;
  Clock::time_point start_ = Clock::now();
  int reports_ = 0;
};

}  // namespace

bool is_streamed(const TextInput::Config& cfg) {
  const auto* const text = cfg.source.get_if<TextSource>();
  if (!text || !text->path.has_value() || cfg.prompt || !cfg.position_streams.empty()) return false;
  try {
    SkipLog skips(OnError::kSkip, "");
    const std::vector<std::string> named = named_texts(text->path.get(), text->more_paths, "");
    return TextFiles(named, skips).num_bytes() > cfg.memory_bytes;
  } catch (const DataError&) {
    return false;  // the source says what is wrong
  }
}

StreamedText::StreamedText(const TextInput::Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  TextTokens tokens(cfg, tokenizer->fingerprint(), scope);
  tokens.make();
  TokenInput::Config rows{.tokenizer = cfg.tokenizer,
                          .seq_len = cfg.seq_len,
                          .batch_size = cfg.batch_size,
                          .shuffle = cfg.shuffle,
                          .epochs = cfg.epochs,
                          .split = cfg.split,
                          .held_out_fraction = cfg.held_out_fraction};
  rows.sources["text"].path = tokens.prefix();
  rows_ = std::make_unique<TokenInput>(rows, dims, scope);
  facts_ = rows_->facts();
  const auto card = read_token_card(tokens.prefix());
  facts_.num_files = std::ranges::count_if(
      card->sources, [](const HashedFile& file) { return file.num_documents > 0; });
  SkipLog skips(OnError::kSkip, "");
  skips.add(tokens.skipped());
  skips.add(card->skipped);
  facts_.skipped = skips.skipped();
}

}  // namespace axle
