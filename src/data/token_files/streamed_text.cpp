#include "data/token_files/streamed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/text_files.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/corpus_source.h"
#include "data/token_files/corpus_text.h"
#include "data/token_files/encoding_report.h"
#include "data/token_files/token_cache.h"
#include "io/user_path.h"

namespace axle {
namespace {

// The files of a source, and how they are built.
struct SourceFiles {
  TokenBuild build = {};  // without its tokenizer and its prefix
  int64_t num_bytes = 0;
  Skipped skipped = {};
  std::string format = {};  // that makes the tokens others
};

SourceFiles files_of(const TextSource::Config& source, const std::string& where) {
  SourceFiles out{
      .build = {.unit = source.unit, .on_error = source.on_error, .only_plain_text = true}};
  SkipLog skips(source.on_error, where + ".on_error");
  const TextFiles files(named_texts(source.path.get(), source.more_paths, where), skips);
  out.build.sources = files.paths();
  out.num_bytes = files.num_bytes();
  out.skipped = skips.skipped();
  return out;
}

SourceFiles files_of(const CorpusSource::Config& source, const std::string& where) {
  SourceFiles out{
      .build = {.field = source.field, .unit = source.unit, .on_error = source.on_error}};
  SkipLog skips(source.on_error, where + ".on_error");
  const auto named = named_texts(source.path.get(), source.more_paths, where);
  out.build.sources = corpus_files(named, where, skips);
  for (const int64_t bytes : sizes_of_files(out.build.sources)) out.num_bytes += bytes;
  out.skipped = skips.skipped();
  out.format = "\nfield " + source.field;
  return out;
}

SourceFiles files_of(const Child<Source>& source, const std::string& where) {
  if (const auto* const text = source.get_if<TextSource>()) return files_of(*text, where);
  return files_of(*source.get_if<CorpusSource>(), where);
}

// Makes the token file of a text, or finds it.
class TextTokens {
 public:
  TextTokens(const TextInput::Config& cfg, uint64_t tokenizer, const Scope& scope)
      : where_(scope.path),
        tokenizer_(cfg.tokenizer),
        files_(files_of(cfg.source, scope.path + ".source")),
        cache_(fmt::format("{:x} {} {} {} {}{}", tokenizer, to_text(files_.build.unit),
                           to_text(files_.build.on_error), StreamedText::kPartBytes,
                           CorpusReader::kRules, files_.format),
               files_.build.sources, where_,
               cfg.source.get_if<TextSource>()
                   ? fmt::format(", or keep them in memory by --set {}.memory_bytes={}", where_,
                                 files_.num_bytes)
                   : "") {}

  std::string prefix() const { return cache_.prefix(); }
  const Skipped& skipped() const { return files_.skipped; }

  void make() {
    cache_.ensure([&] {
      TokenBuild build = files_.build;
      build.tokenizer = tokenizer_;
      build.prefix = prefix();
      build.on_error_field = where_ + ".source.on_error";
      build.part_bytes = StreamedText::kPartBytes;
      for (std::string& path : build.sources) path = text_of_path(path);
      EncodingReport report(where_, "text", cache_, files_.num_bytes);
      build_token_file(build, {.report = [&](const TokenBuildProgress& p) { report.add(p); }});
      report.end();
    });
  }

 private:
  std::string where_;
  const Child<Tokenizer>& tokenizer_;
  SourceFiles files_;
  TokenCache cache_;
};

}  // namespace

bool is_streamed(const TextInput::Config& cfg) {
  if (cfg.prompt || !cfg.position_streams.empty()) return false;
  if (cfg.source.get_if<CorpusSource>()) return true;
  const auto* const text = cfg.source.get_if<TextSource>();
  if (!text || !text->path.has_value()) return false;
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
