#include "data/chat/learned_documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "data/text_source.h"
#include "data/token_files/corpus_reader.h"

namespace axle {

TextOfIds::TextOfIds(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id)
    piece_sizes_.push_back(std::ssize(tokenizer.piece(static_cast<int32_t>(id))));
}

TextOfIds::Sizes TextOfIds::sizes_of(std::span<const int32_t> ids, std::string_view text) const {
  Sizes out{.text_bytes = std::ssize(text)};
  for (const int32_t id : ids) {
    const int64_t size = piece_sizes_[id];
    out.piece_bytes += size;
    // The names of special tokens are no text.
    if (size == 0) out.text_bytes -= std::ssize(tokenizer_.token(id));
  }
  return out;
}

void TextOfIds::add(std::span<const int32_t> ids, std::string_view text) {
  const Sizes sizes = sizes_of(ids, text);
  text_bytes_ += sizes.text_bytes;
  piece_bytes_ += sizes.piece_bytes;
}

std::vector<double> TextOfIds::bytes_of_ids() const {
  const double scale =
      piece_bytes_ > 0 ? static_cast<double>(text_bytes()) / static_cast<double>(piece_bytes_) : 0;
  std::vector<double> out;
  for (const int64_t size : piece_sizes_) out.push_back(scale * static_cast<double>(size));
  return out;
}

std::string problem_of_ids(std::span<const int32_t> ids, const std::string& where,
                           const Tokenizer& tokenizer, std::string_view name, int64_t vocab_size) {
  for (const int32_t id : ids) {
    if (id < vocab_size) continue;
    return fmt::format(
        "{}: expected tokens of the model's vocabulary of {}, got '{}' with id {} of {}", where,
        vocab_size, printable(tokenizer.token(id)), id, name);
  }
  return {};
}

LearnedDocuments::LearnedDocuments(const Tokenizer& tokenizer, std::string name,
                                   int64_t model_vocab_size)
    : tokenizer_(tokenizer),
      name_(std::move(name)),
      model_vocab_size_(model_vocab_size),
      text_of_ids_(tokenizer) {}

std::string LearnedDocuments::problem_of(const LearnedTokens& tokens,
                                         const std::string& where) const {
  return problem_of_ids(tokens.ids, where, tokenizer_, name_, model_vocab_size_);
}

void LearnedDocuments::add(const LearnedTokens& tokens, std::string_view text, std::string where) {
  documents.add_learned(tokens.ids, tokens.is_learned);
  wheres.push_back(std::move(where));
  bytes.add(text);
  text_of_ids_.add(tokens.ids, text);
}

InputFacts LearnedDocuments::facts(const Source& source, const Skipped& skipped) const {
  return {.num_files = source.num_files(),
          .num_documents = documents.num_documents(),
          .num_bytes = bytes.num_bytes(),
          .num_tokens = documents.num_tokens(),
          .byte_entropy_bits = bytes.entropy_bits(),
          .skipped = skipped};
}

std::unique_ptr<PackedBatches> LearnedDocuments::take_batches(
    const PackedBatches::Options& options) {
  std::vector<double> sizes = text_of_ids_.bytes_of_ids();
  return std::make_unique<PackedBatches>(options, std::move(documents), std::move(sizes),
                                         tokenizer_.fingerprint());
}

namespace {

int64_t longest_of(const TokenizedDocuments& documents, Packing packing) {
  const int64_t in_row = packing == Packing::kPairs ? 2 : 1;
  int64_t out = 0, length = 0;
  for (int64_t i = 0; i < documents.num_documents(); ++i) {
    if (i % in_row == 0) length = 0;
    length += std::max<int64_t>(std::ssize(documents.document(i)) - 1, 0);
    out = std::max(out, length);
  }
  return out;
}

}  // namespace

void LearnedInput::check_source(const Child<Source>& source, const std::string& path) {
  if (!source.get_if<TextSource>() && !source.get_if<CorpusSource>()) return;
  throw ConfigError(fmt::format(
      "{}.source: expected a ChatSource, got {}; set {}.source=ChatSource, or for texts "
      "{}=TextInput, before --data",
      path, source.any().type().name, path, path));
}

void LearnedInput::take(LearnedDocuments& learned, const InputFacts& facts,
                        const PackedBatches::Options& options, std::string_view what,
                        const std::string& path) {
  facts_ = facts;
  facts_.endless = !options.epochs;
  if (facts_.num_documents == 0) {
    throw DataError(fmt::format("{}.source: expected {} {}, got none; {}", path, what,
                                counted(options.seq_len, "position"), to_text(facts_.skipped)));
  }
  facts_.longest = longest_of(learned.documents, options.packing);
  wheres_ = std::move(learned.wheres);
  batches_ = learned.take_batches(options);
  facts_.num_rows = batches_->num_rows();
  facts_.num_batches = batches_->num_batches();
}

}  // namespace axle
