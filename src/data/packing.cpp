#include "data/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/hash.h"
#include "data/input.h"
#include "data/random.h"

namespace axle {
namespace {

PackedRows pack_in_order(std::span<const int64_t> num_positions, int64_t seq_len, Packing packing) {
  PackedRows out;
  int64_t filled = 0;
  const auto end_row = [&] {
    out.end_row();
    filled = 0;
  };
  for (size_t i = 0; i < num_positions.size(); ++i) {
    const int64_t count = num_positions[i];
    const bool begins_row = packing == Packing::kWhole   ? filled + count > seq_len
                            : packing == Packing::kPairs ? i % 2 == 0
                                                         : false;
    if (begins_row && filled > 0) end_row();
    for (int64_t from = 0; from < count;) {
      const int64_t taken = std::min(count - from, seq_len - filled);
      out.add_to_row(
          {static_cast<int64_t>(i), static_cast<int32_t>(from), static_cast<int32_t>(taken)});
      from += taken;
      filled += taken;
      if (filled == seq_len) end_row();
    }
  }
  if (filled > 0) end_row();
  return out;
}

PackedRows pack_best_fit(std::span<const int64_t> num_positions, int64_t seq_len) {
  PackedRows out;
  std::vector<RowPart> rests;
  for (size_t i = 0; i < num_positions.size(); ++i) {
    const auto document = static_cast<int64_t>(i);
    int64_t from = 0;
    for (; num_positions[i] - from >= seq_len; from += seq_len) {
      out.add_to_row({document, static_cast<int32_t>(from), static_cast<int32_t>(seq_len)});
      out.end_row();
    }
    const int64_t rest = num_positions[i] - from;
    if (rest > 0)
      rests.push_back({document, static_cast<int32_t>(from), static_cast<int32_t>(rest)});
  }
  std::ranges::stable_sort(rests, std::greater(), &RowPart::count);
  std::vector<std::vector<RowPart>> rows;
  std::set<std::pair<int64_t, size_t>> room;  // free positions, and the row
  for (const RowPart& part : rests) {
    auto best = room.lower_bound({part.count, 0});
    size_t row = rows.size();
    int64_t left = seq_len;
    if (best == room.end()) {
      rows.emplace_back();
    } else {
      left = best->first;
      row = best->second;
      room.erase(best);
    }
    rows[row].push_back(part);
    if (left > part.count) room.emplace(left - part.count, row);
  }
  for (const std::vector<RowPart>& row : rows) {
    for (const RowPart& part : row) out.add_to_row(part);
    out.end_row();
  }
  return out;
}

}  // namespace

std::span<const RowPart> PackedRows::row(int64_t i) const {
  const auto begin = static_cast<size_t>(begins_[static_cast<size_t>(i)]);
  const auto end = static_cast<size_t>(begins_[static_cast<size_t>(i) + 1]);
  return std::span(parts_).subspan(begin, end - begin);
}

PackedRows pack_rows(std::span<const int64_t> num_positions, int64_t seq_len, Packing packing) {
  if (packing == Packing::kBestFit) return pack_best_fit(num_positions, seq_len);
  return pack_in_order(num_positions, seq_len, packing);
}

namespace {

int64_t num_positions(std::span<const int32_t> tokens) {
  return std::max<int64_t>(std::ssize(tokens) - 1, 0);
}

}  // namespace

void TokenizedDocuments::add(std::span<const int32_t> tokens, const SpecialIds& special,
                             int64_t prompt_len) {
  if (special.bos) tokens_.push_back(*special.bos);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  if (special.eos) tokens_.push_back(*special.eos);
  begins_.push_back(std::ssize(tokens_));
  prompts_.push_back(prompt_len > 0 && special.bos ? prompt_len + 1 : prompt_len);
}

void TokenizedDocuments::add_learned(std::span<const int32_t> tokens,
                                     std::span<const uint8_t> is_learned) {
  learned_.resize(tokens_.size(), 1);
  learned_.insert(learned_.end(), is_learned.begin(), is_learned.end());
  add(tokens);
}

std::span<const uint8_t> TokenizedDocuments::learned(int64_t i) const {
  const auto begin = static_cast<size_t>(begins_[static_cast<size_t>(i)]);
  const auto end = static_cast<size_t>(begins_[static_cast<size_t>(i) + 1]);
  if (end > learned_.size()) return {};
  return std::span(learned_).subspan(begin, end - begin);
}

std::span<const int32_t> TokenizedDocuments::document(int64_t i) const {
  const auto begin = static_cast<size_t>(begins_[static_cast<size_t>(i)]);
  const auto end = static_cast<size_t>(begins_[static_cast<size_t>(i) + 1]);
  return std::span(tokens_).subspan(begin, end - begin);
}

uint64_t TokenizedDocuments::fingerprint() const {
  const auto hash_of = [](const auto& values) {
    return xxh3_64(
        {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  };
  uint64_t texts = mix_seed(hash_of(tokens_), hash_of(begins_));
  if (!learned_.empty()) texts = mix_seed(texts, hash_of(learned_));
  const bool has_prompts = std::ranges::any_of(prompts_, [](int64_t n) { return n > 0; });
  return has_prompts ? mix_seed(texts, hash_of(prompts_)) : texts;
}

RowPacker::RowPacker(const TokenizedDocuments& documents, std::vector<int64_t> order,
                     int64_t seq_len, StreamRule streams, Packing packing)
    : documents_(&documents),
      order_(std::move(order)),
      streams_(std::move(streams)),
      packing_(packing) {
  std::vector<int64_t> counts;
  counts.reserve(order_.size());
  for (const int64_t i : order_) counts.push_back(num_positions(documents.document(i)));
  rows_ = pack_rows(counts, seq_len, packing);
}

std::vector<RowPart> RowPacker::parts(int64_t row) const {
  const auto parts = rows_.row(row);
  std::vector<RowPart> out(parts.begin(), parts.end());
  for (RowPart& part : out) part.document = order_[part.document];
  return out;
}

void RowPacker::fill(int64_t row, const RowView& out) const {
  size_t filled = 0;
  int32_t segment = 0;
  for (const RowPart& part : parts(row)) {
    const int64_t document = part.document;
    const auto from = static_cast<size_t>(part.from), count = static_cast<size_t>(part.count);
    fill_segment(out, filled, documents_->document(document).subspan(from, count + 1), ++segment,
                 streams_);
    const auto prompt = static_cast<size_t>(documents_->prompt_len(document));
    for (size_t i = 0; i < count && from + i + 1 < prompt; ++i)
      out.target_labels[filled + i] = kIgnoredLabel;
    if (const auto learned = documents_->learned(document); !learned.empty()) {
      for (size_t i = 0; i < count; ++i) {
        if (!learned[from + i + 1]) out.target_labels[filled + i] = kIgnoredLabel;
      }
    }
    if (!out.prefix_lengths.empty()) {
      const size_t in_row = prompt > from ? std::min(prompt - from, count) : 0;
      std::ranges::fill(out.prefix_lengths.subspan(filled, count),
                        static_cast<int32_t>(filled + in_row));
    }
    filled += count;
  }
  fill_padding_from(out, filled);
  mark_pair(out, packing_ == Packing::kPairs);
}

void fill_segment(const RowView& out, size_t filled, std::span<const int32_t> tokens,
                  int32_t segment, const StreamRule& streams) {
  const size_t count = tokens.size() - 1, num_streams = streams.streams.size();
  std::ranges::copy(tokens.first(count), out.input_ids.subspan(filled).begin());
  std::ranges::copy(tokens.subspan(1), out.target_labels.subspan(filled).begin());
  std::ranges::fill(out.input_segment_ids.subspan(filled, count), segment);
  const auto positions = out.input_positions.subspan(filled, count);
  std::iota(positions.begin(), positions.end(), 0);
  if (num_streams == 0) return;
  streams.fill(tokens.first(count),
               out.position_streams.subspan(filled * num_streams, count * num_streams));
}

void fill_padding_from(const RowView& out, size_t begin) {
  std::ranges::fill(out.input_ids.subspan(begin), 0);
  std::ranges::fill(out.target_labels.subspan(begin), kIgnoredLabel);
  std::ranges::fill(out.input_segment_ids.subspan(begin), 0);
  std::ranges::fill(out.input_positions.subspan(begin), 0);
  if (!out.prefix_lengths.empty()) std::ranges::fill(out.prefix_lengths.subspan(begin), 0);
  const size_t num_streams = out.position_streams.size() / out.input_ids.size();
  std::ranges::fill(out.position_streams.subspan(begin * num_streams), 0);
}

void mark_pair(const RowView& out, bool is_pair) {
  std::ranges::fill(out.is_pair, is_pair ? 1 : 0);
}

void fill_padding(const RowView& out) {
  fill_padding_from(out, 0);
  mark_pair(out, false);
}

namespace {

std::vector<int64_t> in_order(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Seed parts of the two permutations of an epoch.
constexpr uint64_t kDocumentOrder = 0, kRowOrder = 1;

}  // namespace

PackedBatches::PackedBatches(Options options, TokenizedDocuments documents,
                             std::vector<double> text_bytes, uint64_t tokenizer)
    : options_(std::move(options)),
      documents_(std::move(documents)),
      text_bytes_(std::move(text_bytes)) {
  enter_epoch(0);  // also packs whole documents in the order of epoch 0
  num_rows_ = packer_->num_rows();
  const bool is_shuffled = options_.shuffle != Shuffle::kNone;
  std::string what =
      fmt::format("{:x} {:x} {} {} {}", documents_.fingerprint(), tokenizer, options_.seq_len,
                  to_text(options_.shuffle), is_shuffled ? options_.seed : 0);
  if (options_.packing == Packing::kWhole) what += " whole";
  if (options_.packing == Packing::kBestFit) what += " best fit";
  if (options_.packing == Packing::kPairs) what += " pairs";
  fingerprint_ = xxh3_64(what);
}

int64_t PackedBatches::num_batches() const {
  if (!options_.epochs) return 0;
  return (*options_.epochs * num_rows_ + options_.batch_size - 1) / options_.batch_size;
}

void PackedBatches::enter_epoch(int64_t epoch) {
  if (epoch == epoch_) return;
  const bool shuffled = options_.shuffle == Shuffle::kRows;
  const uint64_t seed = mix_seed(options_.seed, static_cast<uint64_t>(epoch));
  // The number of rows with gaps depends on the order of documents: one order for all epochs.
  if (!packer_ || options_.packing == Packing::kCut) {
    const int64_t count = documents_.num_documents();
    const bool moves = shuffled && options_.packing != Packing::kPairs;
    packer_ = std::make_unique<RowPacker>(
        documents_, moves ? permutation(count, mix_seed(seed, kDocumentOrder)) : in_order(count),
        options_.seq_len, options_.streams, options_.packing);
  }
  row_order_ = shuffled ? permutation(packer_->num_rows(), mix_seed(seed, kRowOrder))
                        : in_order(packer_->num_rows());
  epoch_ = epoch;
}

// NumEpochs prevents overflow.
int64_t PackedBatches::end_row() const {
  return options_.epochs ? *options_.epochs * num_rows_ : kMaxRow;
}

std::vector<RowOrigin> PackedBatches::origins_of_batch(int64_t batch,
                                                       const std::vector<std::string>& wheres) {
  std::vector<RowOrigin> out;
  const int64_t begin = std::min(batch, kMaxRow / options_.batch_size) * options_.batch_size;
  const int64_t end = std::min(begin + options_.batch_size, end_row());
  for (int64_t row = begin; row < end; ++row) {
    enter_epoch(row / num_rows_);
    for (const RowPart& part : packer_->parts(row_order_[row % num_rows_])) {
      out.push_back({row - begin, wheres[part.document], part.from, part.count});
    }
  }
  return out;
}

std::optional<Batch> PackedBatches::next() {
  const int64_t end = end_row();
  if (next_row_ >= end) return std::nullopt;
  Batch batch = make_batch(options_.batch_size, options_.seq_len, options_.fields);
  for (int64_t i = 0; i < options_.batch_size && next_row_ < end; ++i, ++next_row_) {
    enter_epoch(next_row_ / num_rows_);
    const RowView row = row_of(batch, i);
    packer_->fill(row_order_[next_row_ % num_rows_], row);
    count_targets(batch, row, text_bytes_);
  }
  return batch;
}

std::string PackedBatches::state() const { return to_json({next_row_, fingerprint_}); }

void PackedBatches::restore(std::string_view state) {
  next_row_ = restored_row(state, fingerprint_);
}

}  // namespace axle
