#include "data/token_files/token_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "config/register.h"
#include "data/chat/build_chat_file.h"
#include "data/chat/chat_template.h"
#include "data/data_file.h"
#include "data/input.h"
#include "data/random.h"
#include "data/text_input.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/streamed_text.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"

namespace axle {
namespace {

// Seed part of the order of rows in an epoch; TokenRows takes those below it.
constexpr uint64_t kRowsOfEpochs = 1;

// Average bytes of text of each id: by the tokenizer's pieces, scaled so that the bytes of all ids
// are the text that they were made from.
std::vector<double> text_bytes_of(const Tokenizer& tokenizer,
                                  const std::optional<TokenCard>& card) {
  const bool is_known = card && card->piece_bytes > 0;
  const double scale =
      is_known ? static_cast<double>(card->text_bytes) / static_cast<double>(card->piece_bytes) : 1;
  std::vector<double> out;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id)
    out.push_back(scale * static_cast<double>(tokenizer.piece(static_cast<int32_t>(id)).size()));
  return out;
}

void check_sources(const TokenInput::Config& cfg, const Scope& scope) {
  if (cfg.sources.empty()) {
    throw ConfigError(fmt::format(
        "{}.sources: expected a token file, got none; name one by --data PREFIX.idx", scope.path));
  }
  const auto num_weights = std::ranges::count_if(
      cfg.sources, [](const auto& one) { return one.second.weight.has_value(); });
  if (num_weights > 0 && num_weights < std::ssize(cfg.sources)) {
    throw ConfigError(
        fmt::format("{}.sources: expected weights for all sources or for none, got "
                    "{} for {}",
                    scope.path, num_weights, cfg.sources.size()));
  }
  for (const auto& [name, source] : cfg.sources) {
    if (!source.epochs || source.weight) continue;
    throw ConfigError(fmt::format(
        "{}.sources.{}.epochs: expected a source with a weight, got one without; set {}.epochs",
        scope.path, name, scope.path));
  }
}

}  // namespace

Packing packing_of(const TokenSource& source, const TokenInput::Config& input) {
  return source.packing.value_or(input.packing);
}

int64_t num_sources_of_pairs(const TokenInput::Config& input) {
  return std::ranges::count_if(input.sources, [&](const auto& source) {
    return packing_of(source.second, input) == Packing::kPairs;
  });
}

TokenInput::TokenInput(const Config& cfg, const Dims& dims, const Scope& scope)
    : seq_len_(cfg.seq_len),
      batch_size_(cfg.batch_size),
      is_shuffled_(cfg.shuffle == Shuffle::kRows),
      seed_(dims.seed),
      epochs_(cfg.epochs) {
  check_batch_size(batch_size_, seq_len_, scope);
  check_sources(cfg, scope);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  open(cfg, dims, *tokenizer, scope);
  mix(cfg, scope);
}

void TokenInput::open(const Config& cfg, const Dims& dims, const Tokenizer& tokenizer,
                      const Scope& scope) {
  std::string what =
      fmt::format("tokens {:x} {} {}", tokenizer.fingerprint(), seq_len_, is_shuffled_ ? seed_ : 0);
  facts_.endless = !cfg.epochs;
  fields_.is_pair = num_sources_of_pairs(cfg) > 0;
  for (const auto& [name, source] : cfg.sources) {
    const std::string where = fmt::format("{}.sources.{}", scope.path, name);
    const auto made = tokens_of_source(source, cfg.tokenizer, dims, where);
    auto rows = std::make_unique<TokenRows>(
        made ? made->prefix : source.path.get(),
        TokenRows::Options{.seq_len = seq_len_,
                           .packing = packing_of(source, cfg),
                           .long_documents = source.long_documents.value_or(cfg.long_documents),
                           .split = cfg.split,
                           .held_out_fraction = cfg.held_out_fraction,
                           .max_documents = source.max_documents
                                                ? std::optional<int64_t>(*source.max_documents)
                                                : std::nullopt,
                           .is_shuffled = is_shuffled_,
                           .seed = mix_seed(seed_, xxh3_64(name)),
                           .vocab_size = std::min(tokenizer.vocab_size(), dims.vocab_size),
                           .tokenizer = tokenizer_name(cfg.tokenizer),
                           .is_made = made.has_value()},
        where);
    if (rows->card())
      check_tokenizer(*rows->card(), tokenizer, rows->file().prefix(), scope.path + ".tokenizer");
    what += fmt::format("\n{} {:x} {} {}", name, rows->fingerprint(),
                        source.weight ? double{*source.weight} : 0,
                        source.epochs ? int64_t{*source.epochs} : 0);
    const auto& learned = rows->card() ? rows->card()->learned : std::nullopt;
    if (learned && !learned->chat_template.empty()) {
      add_template(facts_, chat_template_of_text(tokenizer, learned->chat_template, name),
                   tokenizer);
    }
    ++facts_.num_files;
    if (!rows->card()) facts_.without_tokenizer.push_back(rows->file().prefix() + ".idx");
    if (made) add_made(*made, facts_);
    facts_.num_documents += rows->num_documents();
    facts_.num_tokens += rows->num_tokens();
    facts_.num_rows += rows->num_rows();
    const std::vector<double> bytes = text_bytes_of(tokenizer, rows->card());
    if (rows->card()) {
      facts_.num_bytes += rows->card()->text_bytes;
      facts_.remarks += rows->card()->remarks;
    }
    if (rows->leaves_long_out() ||
        source.long_documents.value_or(cfg.long_documents) == LongDocuments::kTruncate)
      add_long(facts_, rows->num_long(), rows->leaves_long_out());
    rows_before_.push_back(facts_.num_rows);
    sources_.push_back({.name = name, .rows = std::move(rows), .text_bytes = bytes});
  }
  fingerprint_ = xxh3_64(what);
}

void TokenInput::mix(const Config& cfg, const Scope& scope) {
  if (cfg.sources.begin()->second.weight) {
    std::vector<double> weights;
    std::vector<Mixture::Part> parts;
    bool has_end = true;
    for (const auto& [name, source] : cfg.sources) {
      weights.push_back(*source.weight);
      const auto& own = source.epochs ? source.epochs : cfg.epochs;
      const int64_t rows = sources_[parts.size()].rows->num_rows();
      has_end &= own.has_value();
      parts.push_back({.num_rows = own ? std::optional(*own * rows) : std::nullopt});
    }
    const std::vector<int64_t> integers = integer_weights(weights, scope.path + ".sources");
    for (size_t i = 0; i < parts.size(); ++i) parts[i].weight = integers[i];
    mixture_ = std::make_unique<Mixture>(std::move(parts));
    facts_.endless = !has_end;
  }
  if (!facts_.endless) facts_.num_batches = (num_rows() + batch_size_ - 1) / batch_size_;
}

// Rows of all epochs.
int64_t TokenInput::num_rows() const {
  if (mixture_) return mixture_->num_rows().value_or(kMaxRow);
  return epochs_ ? *epochs_ * rows_before_.back() : kMaxRow;
}

TokenInput::SourceRow TokenInput::source_row(int64_t row) {
  // Row number `index` of `count` rows that are passed again and again.
  const auto shuffled = [&](int64_t index, int64_t count, uint64_t seed) {
    const int64_t epoch = index / count, place = index % count;
    if (!is_shuffled_) return place;
    const uint64_t of_epoch = mix_seed(mix_seed(seed, kRowsOfEpochs), static_cast<uint64_t>(epoch));
    return IndexPermutation(count, of_epoch).at(place);
  };
  if (mixture_) {
    const auto [source, index] = mixture_->at(row);
    const Source& one = sources_[source];
    return {source, shuffled(index, one.rows->num_rows(), mix_seed(seed_, xxh3_64(one.name)))};
  }
  const int64_t of_all = shuffled(row, rows_before_.back(), seed_);
  const auto behind = std::ranges::upper_bound(rows_before_, of_all);
  const auto source = static_cast<size_t>(behind - rows_before_.begin()) - 1;
  return {source, of_all - rows_before_[source]};
}

std::optional<Batch> TokenInput::next() {
  const int64_t end = num_rows();
  if (next_row_ >= end) return std::nullopt;
  Batch batch = make_batch(batch_size_, seq_len_, fields_);
  for (int64_t i = 0; i < batch_size_ && next_row_ < end; ++i, ++next_row_) {
    const SourceRow from = source_row(next_row_);
    const Source& source = sources_[from.source];
    const RowView row = row_of(batch, i);
    source.rows->fill(from.row, row);
    count_targets(batch, row, source.text_bytes);
  }
  return batch;
}

std::vector<RowOrigin> TokenInput::origins_of_batch(int64_t batch) {
  std::vector<RowOrigin> out;
  const int64_t begin = std::min(batch, kMaxRow / batch_size_) * batch_size_;
  const int64_t end = std::min(begin + batch_size_, num_rows());
  for (int64_t row = begin; row < end; ++row) {
    const SourceRow from = source_row(row);
    TokenRows& rows = *sources_[from.source].rows;
    for (const RowPart& part : rows.parts(from.row)) {
      std::string where = fmt::format("{}:{}", rows.file().ids_path(), part.document);
      if (rows.card()) {
        if (const std::string source = rows.card()->source_of(part.document); !source.empty())
          where += fmt::format(" ({})", source);
      }
      out.push_back({row - begin, std::move(where), part.from, part.count});
    }
  }
  return out;
}

std::string TokenInput::state() const { return to_json({next_row_, fingerprint_}); }

void TokenInput::restore(std::string_view state) { next_row_ = restored_row(state, fingerprint_); }

AXLE_REGISTER(TokenSource)
AXLE_REGISTER(TokenInput)

namespace {

enum class Kind { kTokens, kTexts, kConversations, kPairs };

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kTokens:
      return "a token file";
    case Kind::kTexts:
      return "texts";
    case Kind::kConversations:
      return "conversations";
    case Kind::kPairs:
      break;
  }
  return "pairs of answers";
}

// True for what is called so too, which may be damaged.
bool is_called_token_file(const std::string& path) {
  const std::string prefix = token_file_prefix(path);
  return is_token_file(path) || prefix != path ||
         (!path_exists(path) && path_exists(prefix + ".idx"));
}

Kind kind_of(const TokenSource& source, const std::string& where) {
  const std::string& path = source.path.get();
  if (is_called_token_file(path)) return Kind::kTokens;
  if (const std::string none = no_texts_at(path); !none.empty()) {
    throw DataError(fmt::format(
        "{}.path: {}: expected a token file, or files of texts, of conversations or of pairs of "
        "answers, got {}",
        where, path, none));
  }
  if (source.field || source.unit) return Kind::kTexts;
  const DataKind kind = data_kind_at(path);
  if (kind == DataKind::kConversations) return Kind::kConversations;
  return kind == DataKind::kPreferences ? Kind::kPairs : Kind::kTexts;
}

// A field that changes nothing is a mistake.
void check_fields(const TokenSource& source, Kind kind, const std::string& where) {
  const auto check = [&](bool is_set, const char* field, bool is_read, const char* expected) {
    if (!is_set || is_read) return;
    throw ConfigError(fmt::format("{}.{}: expected files of {}, got {} in {}; leave the field out",
                                  where, field, expected, name_of(kind), *source.path));
  };
  const bool is_raw = kind != Kind::kTokens, is_chat = is_raw && kind != Kind::kTexts;
  check(source.field.has_value(), "field", is_raw, "texts");
  check(source.unit.has_value(), "unit", is_raw, "texts");
  check(source.on_error != OnError::kFail, "on_error", is_raw, "texts or conversations");
  check(source.chat_template.has_value(), "chat_template", is_chat, "conversations");
  check(source.learned.has_value(), "learned", kind == Kind::kConversations, "conversations");
}

MadeTokens of_texts(const TokenSource& source, const Child<Tokenizer>& tokenizer,
                    const std::string& where) {
  CorpusSource::Config files{.unit = source.unit.value_or(DocumentUnit::kFile),
                             .on_error = source.on_error};
  files.path = source.path.get();
  if (source.field) files.field = *source.field;
  return tokens_of_text(files, tokenizer, {.input = where, .source = where});
}

MadeTokens of_chat(const TokenSource& source, Kind kind, const Child<Tokenizer>& tokenizer,
                   const Input::Dims& dims, const std::string& where) {
  ChatBuild build{.work = {.tokenizer = tokenizer,
                           .on_unfit = source.on_error,
                           .on_unfit_field = where + ".on_error",
                           .batch_bytes = kChatBatchBytes},
                  .where = where,
                  .unit = kind == Kind::kPairs ? ChatUnit::kPair : ChatUnit::kConversation,
                  .chat_template = source.chat_template,
                  .template_field = where + ".chat_template",
                  .learned = source.learned.value_or(Learned::kAssistant),
                  .model_vocab_size = dims.vocab_size};
  ChatSource::Config files{.on_error = source.on_error};
  files.path = source.path.get();
  return tokens_of_chat(std::move(build), files, {.input = where, .source = where});
}

}  // namespace

std::optional<MadeTokens> tokens_of_source(const TokenSource& source,
                                           const Child<Tokenizer>& tokenizer,
                                           const Input::Dims& dims, const std::string& where) {
  const Kind kind = kind_of(source, where);
  check_fields(source, kind, where);
  if (kind == Kind::kTokens) return std::nullopt;
  if (kind == Kind::kTexts) return of_texts(source, tokenizer, where);
  return of_chat(source, kind, tokenizer, dims, where);
}

}  // namespace axle
