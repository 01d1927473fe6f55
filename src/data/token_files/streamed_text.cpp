#include "data/token_files/streamed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/text_source.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/corpus_reader.h"
#include "io/file.h"

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

MadeTokens tokens_of_text(const Child<Source>& source, const Child<Tokenizer>& tokenizer,
                          const MadeFor& whom) {
  SourceFiles files = files_of(source, whom.source);
  const auto built = tokenizer.build({}, {.path = whom.input + ".tokenizer"});
  const SpecialIds boundaries =
      boundary_ids(built->special_ids(), files.build.begins, files.build.ends);
  const TokenCache cache(fmt::format("{} {} {} {} {}{}", encoding_text(*built, boundaries),
                                     to_text(files.build.unit), to_text(files.build.on_error),
                                     kTextPartBytes, CorpusReader::kRules, files.format),
                         files.build.sources, whom.input, whom.or_in_memory(files.num_bytes));
  cache.ensure([&] {
    TokenBuild& build = files.build;
    build.tokenizer = tokenizer;
    build.prefix = cache.prefix();
    build.sources_field = whom.source + ".path";
    build.on_error_field = whom.source + ".on_error";
    build.part_bytes = kTextPartBytes;
    for (std::string& path : build.sources) path = text_of_path(path);
    EncodingReport report(whom.input, "text", cache, files.num_bytes);
    build_token_file(build, {.report = [&](const TokenBuildProgress& p) { report.add(p); }});
    report.end();
  });
  return {.prefix = cache.prefix(), .skipped = files.skipped};
}

StreamedText::StreamedText(const TextInput::Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  const MadeTokens tokens =
      tokens_of_text(cfg.source, cfg.tokenizer,
                     {.input = scope.path,
                      .source = scope.path + ".source",
                      .has_memory = cfg.source.get_if<TextSource>() != nullptr});
  TokenInput::Config rows{.tokenizer = cfg.tokenizer,
                          .seq_len = cfg.seq_len,
                          .batch_size = cfg.batch_size,
                          .shuffle = cfg.shuffle,
                          .epochs = cfg.epochs,
                          .split = cfg.split,
                          .held_out_fraction = cfg.held_out_fraction,
                          .packing = cfg.packing,
                          .long_documents = cfg.long_documents};
  rows.sources["text"].path = tokens.prefix;
  rows_ = std::make_unique<TokenInput>(rows, dims, scope);
  facts_ = rows_->facts();
  add_made(tokens, facts_);
}

}  // namespace axle
