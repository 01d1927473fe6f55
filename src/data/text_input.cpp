#include "data/text_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "config/register.h"
#include "data/token_files/streamed_text.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size, std::string_view path) {
  const int64_t needed = needed_vocab_size(tokenizer);
  if (needed <= vocab_size) return;
  throw ConfigError(fmt::format(
      "{}.tokenizer: expected at most the model's vocabulary of {} tokens, got {}; a new "
      "model may have more (model.decoder.vocab_size)",
      path, vocab_size, needed));
}

TextInput::TextInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  if (cfg.packing == Packing::kPairs) {
    throw ConfigError(fmt::format("{}.packing: expected cut, whole or best_fit for text, got {}",
                                  scope.path, to_text(cfg.packing)));
  }
  if (is_streamed(cfg))
    rows_ = std::make_unique<StreamedText>(cfg, dims, scope);
  else
    rows_ = std::make_unique<TextInMemory>(cfg, dims, scope);
}

AXLE_REGISTER(TextInput)

namespace {

// The memory that a corpus takes once it is tokenized.
struct TokenCost {
  int64_t text_bytes = 0;
  int64_t num_tokens = 0;
  int64_t encode_bytes = 0;  // while a document is encoded, at the most
  int64_t bytes() const {
    return num_tokens * static_cast<int64_t>(sizeof(int32_t)) + encode_bytes;
  }
};

// Estimates the tokens per byte from a sample at the beginning of the text.
TokenCost token_cost(const std::vector<Document>& documents, const Tokenizer& tokenizer) {
  constexpr size_t kSampleBytes = 64 << 10;
  TokenCost out;
  int64_t sampled_bytes = 0, sampled_tokens = 0;
  for (const Document& document : documents) {
    const auto size = std::ssize(document.text);
    out.text_bytes += size;
    out.encode_bytes = std::max(out.encode_bytes, tokenizer.encode_memory(document.text));
    if (sampled_bytes >= static_cast<int64_t>(kSampleBytes)) continue;
    // The sample may end inside a character.
    const std::string_view sample = document.text.substr(0, kSampleBytes);
    sampled_bytes += std::ssize(sample);
    sampled_tokens += static_cast<int64_t>(tokenizer.encode(sample).size());
  }
  if (sampled_bytes == 0) return out;
  const double ratio = static_cast<double>(sampled_tokens) / static_cast<double>(sampled_bytes);
  // Adds the tokens that begin and end each document.
  out.num_tokens =
      static_cast<int64_t>(ratio * static_cast<double>(out.text_bytes)) + 2 * std::ssize(documents);
  return out;
}

bool has_prompt(const Prompt& prompt, const Document& document) {
  const std::optional<size_t> bytes = prompt.bytes_of(document.text);
  return !bytes || *bytes > 0;
}

// Throws unless the prompt may end somewhere in the documents.
void check_prompt(const Prompt& prompt, const std::vector<Document>& documents,
                  const std::string& where) {
  if (!prompt.until) return;
  if (prompt.until->empty()) {
    throw ConfigError(fmt::format(
        "{}.until: expected the text that ends a prompt, got an empty one; leave it out to take a "
        "share of each document",
        where));
  }
  const auto has_one = [&](const Document& document) { return has_prompt(prompt, document); };
  if (std::ranges::none_of(documents, has_one)) {
    throw DataError(
        fmt::format("{}.until: expected a text that ends the prompts, got '{}', which is "
                    "in none of {}",
                    where, printable(*prompt.until), counted(std::ssize(documents), "document")));
  }
}

}  // namespace

TextInMemory::TextInMemory(const TextInput::Config& cfg, const Dims& dims, const Scope& scope) {
  const BatchFields fields{.prefix_lengths = cfg.prompt.has_value(),
                           .num_streams = std::ssize(cfg.position_streams)};
  check_batch_size(cfg.batch_size, cfg.seq_len, scope, fields);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  StreamRule streams = stream_rule(cfg.position_streams, *tokenizer);
  TokenizedDocuments documents = read(cfg, *tokenizer, scope);
  read_wheres_ = [source = cfg.source, split = cfg.split, fraction = cfg.held_out_fraction,
                  path = scope.path + ".source"] {
    const auto built = source.build({}, {.path = path});
    std::vector<std::string> out;
    for (const Document& one : select_split(built->documents(), split, fraction))
      out.push_back(one.where);
    return out;
  };
  auto options = PackedBatches::Options::of(cfg, dims.seed, cfg.packing);
  options.fields = fields;
  options.streams = std::move(streams);
  batches_ = std::make_unique<PackedBatches>(std::move(options), std::move(documents),
                                             std::move(text_bytes_), tokenizer->fingerprint());
  facts_.num_rows = batches_->num_rows();
  facts_.num_batches = batches_->num_batches();
  if (facts_.num_rows > 0) return;
  throw DataError(
      num_long_ > 0
          ? fmt::format("{}.source: expected documents of at most {}, which is a row, "
                        "got none; set {}.long_documents=split",
                        scope.path, counted(cfg.seq_len, "position"), scope.path)
          : fmt::format("{}.source: expected text, got documents of one token", scope.path));
}

std::vector<RowOrigin> TextInMemory::origins_of_batch(int64_t batch) {
  return batches_->origins_of_batch(batch, read_wheres_());
}

TokenizedDocuments TextInMemory::read(const TextInput::Config& cfg, const Tokenizer& tokenizer,
                                      const Scope& scope) {
  const auto source = cfg.source.build({}, {.path = scope.path + ".source"});
  if (cfg.prompt) check_prompt(*cfg.prompt, source->documents(), scope.path + ".prompt");
  const auto documents = select_split(source->documents(), cfg.split, cfg.held_out_fraction);
  std::vector<int64_t> piece_sizes;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    piece_sizes.push_back(static_cast<int64_t>(tokenizer.piece(static_cast<int32_t>(id)).size()));
  }
  const TokenCost cost = token_cost(documents, tokenizer);
  check_host_allocation(scope.path,
                        fmt::format("the tokens of {} of text", counted(cost.text_bytes, "byte")),
                        cost.bytes());
  TokenizedDocuments tokens;
  tokens.reserve(cost.num_tokens);
  ByteHistogram bytes;
  const SpecialNames names(tokenizer);
  Remarks remarks;
  int64_t pieces_size = 0, num_without_prompt = 0;
  for (const Document& document : documents) {
    for (const int32_t id : add(tokens, document, tokenizer, cfg)) pieces_size += piece_sizes[id];
    bytes.add(document.text);
    remarks[Remark::kNamed] += names.stand_in(document.text);
    if (cfg.prompt && !has_prompt(*cfg.prompt, document)) ++num_without_prompt;
  }
  const bool are_all_skipped =
      cfg.long_documents == LongDocuments::kSkip && num_long_ == tokens.num_documents();
  if (cfg.prompt && num_learned_ == 0 && bytes.num_bytes() > 0 && !are_all_skipped) {
    throw DataError(
        fmt::format("{}.prompt: expected text behind the prompts, got none: each of {} "
                    "is all prompt",
                    scope.path, counted(std::ssize(documents), "document")));
  }
  // The pieces differ from the text: tokenizers put a space before it, normalize it, and show
  // unknown parts as something else. The ratio corrects for this on average.
  const double text_per_piece =
      pieces_size > 0 ? static_cast<double>(bytes.num_bytes()) / static_cast<double>(pieces_size)
                      : 0;
  for (const int64_t size : piece_sizes)
    text_bytes_.push_back(static_cast<double>(size) * text_per_piece);
  facts_ = {.num_files = source->num_files(),
            .num_documents = tokens.num_documents(),
            .num_bytes = bytes.num_bytes(),
            .num_tokens = tokens.num_tokens(),
            .endless = !cfg.epochs,
            .byte_entropy_bits = bytes.entropy_bits(),
            .num_without_prompt = num_without_prompt,
            .remarks = remarks,
            .skipped = source->skipped()};
  add_long(facts_, num_long_, cfg.long_documents == LongDocuments::kSkip);
  return tokens;
}

// A prompt that ends at a text is encoded by itself, as generation encodes prompts.
std::vector<int32_t> TextInMemory::add(TokenizedDocuments& documents, const Document& document,
                                       const Tokenizer& tokenizer, const TextInput::Config& cfg) {
  const auto bytes = cfg.prompt ? cfg.prompt->bytes_of(document.text) : std::optional<size_t>(0);
  std::vector<int32_t> ids = tokenizer.encode(document.text.substr(0, bytes.value_or(0)));
  auto prompt_len = std::ssize(ids);
  std::vector<int32_t> rest = tokenizer.encode(document.text.substr(bytes.value_or(0)));
  if (ids.empty())
    ids = std::move(rest);
  else
    ids.insert(ids.end(), rest.begin(), rest.end());
  if (!bytes) prompt_len = cfg.prompt->share_of(std::ssize(ids));
  SpecialIds special = tokenizer.special_ids();
  const int64_t most = cfg.seq_len + 1 - (special.bos ? 1 : 0);
  const auto size = std::ssize(ids);
  std::span<const int32_t> kept = ids;
  if (size + (special.eos ? 1 : 0) > most && cfg.long_documents != LongDocuments::kSplit) {
    ++num_long_;
    if (cfg.long_documents == LongDocuments::kSkip) {
      documents.add({});  // later documents keep their numbers
      return ids;
    }
    kept = kept.first(std::min(most, size));
    if (size >= most) special.eos.reset();
    prompt_len = std::min(prompt_len, std::ssize(kept));
  }
  num_learned_ += std::ssize(kept) - prompt_len;
  documents.add(kept, special, prompt_len);
  return ids;
}

}  // namespace axle
