#include "data/text_input.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory_check.h"
#include "base/text/units.h"
#include "base/text/utf8.h"
#include "config/register.h"
#include "data/random.h"
#include "data/row_position.h"
#include "data/tokenizers/byte_histogram.h"

namespace axle {
namespace {

std::vector<int64_t> in_order(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// The memory that a corpus takes once it is tokenized.
struct TokenCost {
  int64_t text_bytes = 0;
  int64_t num_tokens = 0;
  int64_t encode_bytes = 0;  // while the largest document is encoded
  int64_t bytes() const {
    return num_tokens * static_cast<int64_t>(sizeof(int32_t)) + encode_bytes;
  }
};

// Estimates the tokens per byte from a sample at the beginning of the text.
TokenCost token_cost(const std::vector<Document>& documents, const Tokenizer& tokenizer) {
  constexpr size_t kSampleBytes = 64 << 10;
  TokenCost out;
  int64_t sampled_bytes = 0, sampled_tokens = 0, largest = 0;
  for (const Document& document : documents) {
    const auto size = static_cast<int64_t>(document.text.size());
    out.text_bytes += size;
    largest = std::max(largest, size);
    if (sampled_bytes >= static_cast<int64_t>(kSampleBytes)) continue;
    // The sample may end inside a character.
    const std::string_view sample = document.text.substr(0, kSampleBytes);
    sampled_bytes += static_cast<int64_t>(sample.size());
    sampled_tokens += static_cast<int64_t>(tokenizer.encode(sample).size());
  }
  if (sampled_bytes == 0) return out;
  const double ratio = static_cast<double>(sampled_tokens) / static_cast<double>(sampled_bytes);
  // Adds the tokens that begin and end each document.
  out.num_tokens = static_cast<int64_t>(ratio * static_cast<double>(out.text_bytes)) +
                   2 * static_cast<int64_t>(documents.size());
  out.encode_bytes = largest * tokenizer.encode_bytes();
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

// Seed parts of the two permutations of an epoch.
constexpr uint64_t kDocumentOrder = 0, kRowOrder = 1;

}  // namespace

void check_vocabulary(const Tokenizer& tokenizer, int64_t vocab_size, std::string_view path) {
  if (tokenizer.vocab_size() <= vocab_size) return;
  throw ConfigError(fmt::format(
      "{}.tokenizer: expected at most the model's vocabulary of {} tokens, got {}; a new "
      "model may have more (model.decoder.vocab_size)",
      path, vocab_size, tokenizer.vocab_size()));
}

TextInput::TextInput(const Config& cfg, const Dims& dims, const Scope& scope)
    : seq_len_(cfg.seq_len),
      batch_size_(cfg.batch_size),
      fields_{.prefix_lengths = cfg.prompt.has_value(),
              .num_streams = std::ssize(cfg.position_streams)},
      shuffle_(cfg.shuffle),
      epochs_(cfg.epochs),
      seed_(dims.seed) {
  check_batch_size(batch_size_, seq_len_, scope, fields_);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  streams_ = stream_rule(cfg.position_streams, *tokenizer);
  read(cfg, *tokenizer, scope);
  enter_epoch(0);
  num_rows_ = facts_.num_rows = packer_->num_rows();
  if (epochs_) facts_.num_batches = (*epochs_ * num_rows_ + batch_size_ - 1) / batch_size_;
  if (num_rows_ == 0)
    throw DataError(
        fmt::format("{}.source: expected text, got documents of one token", scope.path));
  const std::string what =
      fmt::format("{:x} {:x} {} {} {}", documents_.fingerprint(), tokenizer->fingerprint(),
                  seq_len_, to_text(shuffle_), shuffle_ == Shuffle::kNone ? 0 : seed_);
  fingerprint_ = xxh3_64(what);
}

void TextInput::read(const Config& cfg, const Tokenizer& tokenizer, const Scope& scope) {
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
  documents_.reserve(cost.num_tokens);
  ByteHistogram bytes;
  int64_t pieces_size = 0, num_without_prompt = 0;
  for (const Document& document : documents) {
    for (const int32_t id : add(document, tokenizer, cfg))
      pieces_size += piece_sizes[static_cast<size_t>(id)];
    bytes.add(document.text);
    if (cfg.prompt && !has_prompt(*cfg.prompt, document)) ++num_without_prompt;
  }
  if (cfg.prompt && num_learned_ == 0 && bytes.num_bytes() > 0) {
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
            .num_documents = documents_.num_documents(),
            .num_bytes = bytes.num_bytes(),
            .num_tokens = documents_.num_tokens(),
            .endless = !epochs_,
            .byte_entropy_bits = bytes.entropy_bits(),
            .num_without_prompt = num_without_prompt,
            .skipped = source->skipped()};
}

// A prompt that ends at a text is encoded by itself, as generation encodes prompts.
std::vector<int32_t> TextInput::add(const Document& document, const Tokenizer& tokenizer,
                                    const Config& cfg) {
  const auto bytes = cfg.prompt ? cfg.prompt->bytes_of(document.text) : std::optional<size_t>(0);
  std::vector<int32_t> ids = tokenizer.encode(document.text.substr(0, bytes.value_or(0)));
  auto prompt_len = static_cast<int64_t>(ids.size());
  const std::vector<int32_t> rest = tokenizer.encode(document.text.substr(bytes.value_or(0)));
  ids.insert(ids.end(), rest.begin(), rest.end());
  if (!bytes) prompt_len = cfg.prompt->share_of(static_cast<int64_t>(ids.size()));
  num_learned_ += static_cast<int64_t>(ids.size()) - prompt_len;
  documents_.add(ids, tokenizer.special_ids(), prompt_len);
  return ids;
}

void TextInput::enter_epoch(int64_t epoch) {
  if (epoch == epoch_) return;
  const bool shuffled = shuffle_ == Shuffle::kRows;
  const uint64_t seed = mix_seed(seed_, static_cast<uint64_t>(epoch));
  const int64_t count = documents_.num_documents();
  packer_ = std::make_unique<RowPacker>(
      documents_, shuffled ? permutation(count, mix_seed(seed, kDocumentOrder)) : in_order(count),
      seq_len_, streams_);
  row_order_ = shuffled ? permutation(packer_->num_rows(), mix_seed(seed, kRowOrder))
                        : in_order(packer_->num_rows());
  epoch_ = epoch;
}

std::optional<Batch> TextInput::next() {
  const int64_t end = epochs_ ? *epochs_ * num_rows_ : kMaxRow;  // NumEpochs prevents overflow
  if (next_row_ >= end) return std::nullopt;
  Batch batch = make_batch(batch_size_, seq_len_, fields_);
  for (int64_t i = 0; i < batch_size_ && next_row_ < end; ++i, ++next_row_) {
    enter_epoch(next_row_ / num_rows_);
    const RowView row = row_of(batch, i);
    packer_->fill(row_order_[static_cast<size_t>(next_row_ % num_rows_)], row);
    for (const int32_t label : row.target_labels) {
      if (label == kIgnoredLabel) continue;
      ++batch.num_targets;
      batch.num_target_bytes += text_bytes_[static_cast<size_t>(label)];
    }
  }
  return batch;
}

std::string TextInput::state() const { return to_json({next_row_, fingerprint_}); }

void TextInput::restore(std::string_view state) { next_row_ = restored_row(state, fingerprint_); }

AXLE_REGISTER(TextInput)

}  // namespace axle
