#include "data/token_files/token_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/text/text_table.h"
#include "data/random.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {

PackedWindow::PackedWindow(const PackedRows& rows) {
  begins_.reserve(static_cast<size_t>(rows.num_rows()) + 1);
  begins_.push_back(0);
  for (int64_t i = 0; i < rows.num_rows(); ++i) {
    for (const RowPart& part : rows.row(i)) {
      if (part.from > 0) cuts_.push_back({static_cast<uint32_t>(documents_.size()), part.from});
      documents_.push_back(static_cast<uint16_t>(part.document));
    }
    begins_.push_back(static_cast<uint32_t>(documents_.size()));
  }
  documents_.shrink_to_fit();
  cuts_.shrink_to_fit();
}

std::vector<PackedWindow::Part> PackedWindow::row(int64_t i) const {
  const uint32_t begin = begins_[i], end = begins_[static_cast<size_t>(i) + 1];
  auto cut = std::ranges::lower_bound(cuts_, begin, {}, &Cut::part);
  std::vector<Part> out;
  for (uint32_t part = begin; part < end; ++part) {
    const bool is_cut = cut != cuts_.end() && cut->part == part;
    out.push_back({documents_[part], is_cut ? cut->from : 0});
    if (is_cut) ++cut;
  }
  return out;
}

int64_t PackedWindow::num_bytes() const {
  return static_cast<int64_t>(sizeof(*this) + begins_.capacity() * sizeof(begins_[0]) +
                              documents_.capacity() * sizeof(documents_[0]) +
                              cuts_.capacity() * sizeof(cuts_[0]));
}

namespace {

// Fixed for ever: other values would mix up the splits of older runs.
constexpr uint64_t kBlockChoice = 21;
constexpr int64_t kBlock = 100;
constexpr int64_t kMostBlocksInMemory = int64_t{1} << 19;
constexpr int64_t kWordBits = 64;

int64_t blocks_of(int64_t num_documents) { return (num_documents + kBlock - 1) / kBlock; }

// Returns the index of the bit that has n set bits before it.
int64_t position_of_bit(uint64_t word, int64_t n) {
  for (; n > 0; --n) word &= word - 1;
  return std::countr_zero(word);
}

}  // namespace

SplitDocuments::SplitDocuments(int64_t num_documents, Split split, double fraction,
                               std::string_view where, std::string_view advice)
    : num_documents_(num_documents), split_(split), fraction_(fraction) {
  const int64_t blocks = split == Split::kAll ? 0 : blocks_of(num_documents);
  if (blocks <= kMostBlocksInMemory) {
    std::vector<Held> held(static_cast<size_t>(blocks));
    parallel_for(blocks, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) held[block] = held_in(block);
    });
    held_ = std::move(held);
  }
  if (count() > 0) return;
  throw DataError(
      fmt::format("{}: expected enough documents for the split '{}', got {}; {}, or change "
                  "held_out_fraction ({})",
                  where, to_text(split), counted(num_documents, "document"), advice, fraction));
}

// Documents that are held out before a document that begins a block, or before the end.
int64_t SplitDocuments::held_before(int64_t document) const {
  const auto held =
      static_cast<int64_t>(std::floor(static_cast<double>(document) * fraction_ + 0.5));
  const bool needs_one = document == num_documents_ && document > 1 && fraction_ > 0;
  return needs_one ? std::clamp<int64_t>(held, 1, document - 1) : held;
}

// Documents of the split before it.
int64_t SplitDocuments::before(int64_t document) const {
  if (split_ == Split::kAll) return document;
  const int64_t held = held_before(document);
  return split_ == Split::kHeldOut ? held : document - held;
}

// Documents of a split lie almost evenly: the block is the one of their share, or near it.
int64_t SplitDocuments::block_of(int64_t i) const {
  const int64_t blocks = blocks_of(num_documents_);
  const double share = static_cast<double>(i) / static_cast<double>(count());
  auto block = std::min(static_cast<int64_t>(share * static_cast<double>(blocks)), blocks - 1);
  while (before(block * kBlock) > i) --block;
  while (block + 1 < blocks && before((block + 1) * kBlock) <= i) ++block;
  return block;
}

SplitDocuments::Held SplitDocuments::held_in(int64_t block) const {
  if (!held_.empty()) return held_[block];
  const int64_t begin = block * kBlock, end = std::min(begin + kBlock, num_documents_);
  std::array<std::pair<uint64_t, int64_t>, kBlock> lots;
  for (int64_t k = 0; k < end - begin; ++k)
    lots[k] = {mix_seed(kBlockChoice, static_cast<uint64_t>(begin + k)), k};
  const auto held = lots.begin() + (held_before(end) - held_before(begin));
  std::nth_element(lots.begin(), held, lots.begin() + (end - begin));
  Held out = {};
  for (auto lot = lots.begin(); lot != held; ++lot)
    out[lot->second / kWordBits] |= uint64_t{1} << (lot->second % kWordBits);
  return out;
}

int64_t SplitDocuments::at(int64_t i) const {
  if (split_ == Split::kAll) return i;
  const int64_t block = block_of(i), begin = block * kBlock;
  Held wanted = held_in(block);
  if (split_ == Split::kTrain) {
    for (uint64_t& word : wanted) word = ~word;
  }
  const int64_t before_it = i - before(begin), in_first = std::popcount(wanted[0]);
  if (before_it < in_first) return begin + position_of_bit(wanted[0], before_it);
  return begin + kWordBits + position_of_bit(wanted[1], before_it - in_first);
}

namespace {

constexpr int64_t kRowsOfAWindow = 128;
constexpr int64_t kPackedBytes = int64_t{16} << 20;
constexpr int64_t kLeastDocuments = 64;

// Seed part of the order of documents.
constexpr uint64_t kDocuments = 0;

int64_t documents_of_a_window(const TokenFile& file, int64_t seq_len, int64_t unit_size) {
  const int64_t count = std::max<int64_t>(file.num_documents() / unit_size, 1);
  const int64_t mean = std::max<int64_t>(file.num_tokens() / count, 1);
  return std::clamp((kRowsOfAWindow * seq_len + mean - 1) / mean, kLeastDocuments,
                    PackedWindow::kMostDocuments / unit_size);
}

// Hash of the beginning and the end of a file, and of its size.
uint64_t hash_of_ends(const std::string& path) {
  constexpr int64_t kEnd = int64_t{1} << 16;
  const FileReader file(path);
  std::string bytes(static_cast<size_t>(std::min(file.size(), kEnd)), '\0');
  const auto into = std::as_writable_bytes(std::span(bytes));
  file.read_at(0, into);
  const uint64_t begin = xxh3_64(bytes);
  file.read_at(file.size() - std::ssize(bytes), into);
  return mix_seed(mix_seed(begin, xxh3_64(bytes)), static_cast<uint64_t>(file.size()));
}

std::string advice_for_more(const std::optional<TokenCard>& card, bool is_made,
                            const std::string& where) {
  if (card && card->learned) return "give more";
  return is_made ? fmt::format("cut the texts into more (--set {}.unit=line)", where)
                 : "cut the texts into more (data build --unit line)";
}

}  // namespace

TokenRows::TokenRows(const std::string& path, const Options& options, const std::string& where)
    : file_(path),
      card_(read_token_card(file_.prefix())),
      options_(options),
      split_(file_.num_documents() / unit_size(), options.split, options.held_out_fraction, where,
             advice_for_more(card_, options.is_made, where)),
      num_documents_(std::min(split_.count(), options.max_documents.value_or(split_.count()))),
      order_(num_documents_, mix_seed(options.seed, kDocuments)),
      window_documents_(documents_of_a_window(file_, options.seq_len, unit_size())) {
  check_pairs(where);
  if (const std::string flags = learned_prefix(file_.prefix());
      is_token_file(flags) || (card_ && card_->learned)) {
    learned_ = std::make_unique<TokenFile>(flags);
    if (learned_->num_documents() != file_.num_documents() ||
        learned_->num_tokens() != file_.num_tokens()) {
      throw DataError(
          fmt::format("{}: expected a flag for each of {} ids of {} documents, got {} "
                      "for {}",
                      learned_->index_path(), file_.num_tokens(), file_.num_documents(),
                      learned_->num_tokens(), learned_->num_documents()));
    }
  }
  count_rows();
  if (!card_) check_ids();
  if (num_rows() > 0) return;
  throw DataError(fmt::format("{}: expected documents of at least two tokens{}, got none in {}",
                              where, leaves_long_out() ? " that fit into a row" : "",
                              file_.index_path()));
}

// A model that takes both answers of a pair for what it should say would learn the worse one too.
void TokenRows::check_pairs(const std::string& where) const {
  const bool has_pairs = card_ ? card_->has_pairs() : packs_pairs();
  if (has_pairs != packs_pairs()) {
    throw DataError(fmt::format("{}: expected {} for packing={}, got {} in {}", where,
                                packs_pairs() ? "pairs of answers" : "texts or conversations",
                                to_text(options_.packing),
                                has_pairs ? "pairs of answers" : "documents", file_.index_path()));
  }
  if (file_.num_documents() % unit_size() == 0) return;
  throw DataError(fmt::format("{}: expected pairs of documents, got {} in {}", where,
                              file_.num_documents(), file_.index_path()));
}

// Finds ids of another tokenizer before a run compiles. A card says which tokenizer it was.
void TokenRows::check_ids() const {
  constexpr int64_t kMostIds = int64_t{1} << 22, kMostDocuments = 1024, kIdsOfADocument = 4096;
  const bool is_small = num_tokens_ <= kMostIds;
  const int64_t count = is_small ? num_documents_ : std::min(num_documents_, kMostDocuments);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = document_at(i * num_documents_ / count) * unit_size();
    for (int64_t document = first; document < first + unit_size(); ++document) {
      const int64_t length = file_.length(document);
      ids.resize(is_small ? length : std::min(length, kIdsOfADocument));
      file_.read(document, 0, ids, options_.vocab_size, options_.tokenizer);
    }
  }
}

int64_t TokenRows::document_at(int64_t position) const {
  return split_.at(options_.is_shuffled ? order_.at(position) : position);
}

// Of a document of more than a row that is truncated: without flags, or without an end between ids
// that are targets and others, a row.
int64_t TokenRows::kept_positions(int64_t document) const {
  if (!learned_) return options_.seq_len;
  check_flags(document);
  std::vector<int32_t> flags(static_cast<size_t>(options_.seq_len) + 2);
  flags.resize(std::min(std::ssize(flags), file_.length(document)));
  learned_->read(document, 0, flags);
  if (std::ranges::count(flags, 0) == 0) return options_.seq_len;
  for (size_t end = flags.size() - 1; end > 1; --end) {
    if (flags[end - 1] != 0 && flags[end] == 0) return static_cast<int64_t>(end) - 1;
  }
  return 0;
}

void TokenRows::add_document(int64_t position, Window& out) const {
  const int64_t first = document_at(position) * unit_size();
  int64_t num_positions = 0;
  for (int64_t document = first; document < first + unit_size(); ++document) {
    out.documents.push_back(document);
    out.lengths.push_back(file_.length(document));
    out.positions.push_back(std::max<int64_t>(out.lengths.back() - 1, 0));
    num_positions += out.positions.back();
  }
  if (num_positions <= options_.seq_len) return;
  ++out.num_long;
  const auto positions = std::span(out.positions).last(unit_size());
  if (leaves_long_out())
    std::ranges::fill(positions, 0);
  else if (options_.long_documents == LongDocuments::kTruncate)
    positions[0] = kept_positions(first);
}

TokenRows::Window TokenRows::window_of(int64_t window) const {
  const int64_t begin = window * window_documents_;
  const int64_t end = std::min(begin + window_documents_, num_documents_);
  Window out;
  for (int64_t position = begin; position < end; ++position) add_document(position, out);
  return out;
}

void TokenRows::count_rows() {
  const int64_t windows = (num_documents_ + window_documents_ - 1) / window_documents_;
  rows_before_.assign(static_cast<size_t>(windows) + 1, 0);
  std::atomic<int64_t> num_tokens = 0, num_long = 0;
  parallel_for(windows, 1, [&](int64_t first, int64_t last) {
    for (int64_t window = first; window < last; ++window) {
      const Window one = window_of(window);
      rows_before_[static_cast<size_t>(window) + 1] =
          pack_rows(one.positions, options_.seq_len, options_.packing).num_rows();
      for (const int64_t length : one.lengths) num_tokens += length;
      num_long += one.num_long;
    }
  });
  for (size_t i = 1; i < rows_before_.size(); ++i) rows_before_[i] += rows_before_[i - 1];
  num_tokens_ = num_tokens;
  num_long_ = num_long;
}

// Shuffled rows come from any window: the windows packed last are kept, so that windows of a corpus
// that is not large are packed once.
const PackedWindow& TokenRows::packed(int64_t window) {
  if (const auto found = packed_.find(window); found != packed_.end()) return found->second;
  PackedWindow made(pack_rows(window_of(window).positions, options_.seq_len, options_.packing));
  while (!packed_order_.empty() && packed_bytes_ + made.num_bytes() > kPackedBytes) {
    const auto oldest = packed_.find(packed_order_.front());
    packed_bytes_ -= oldest->second.num_bytes();
    packed_.erase(oldest);
    packed_order_.pop_front();
  }
  packed_bytes_ += made.num_bytes();
  packed_order_.push_back(window);
  return packed_.emplace(window, std::move(made)).first->second;
}

std::vector<RowPart> TokenRows::parts(int64_t row) {
  const auto behind = std::ranges::upper_bound(rows_before_, row);
  const int64_t window = behind - rows_before_.begin() - 1;
  const PackedWindow& one = packed(window);
  std::vector<RowPart> out;
  int64_t filled = 0;
  Window opened;
  for (const auto& [in_window, from] : one.row(row - rows_before_[window])) {
    opened.clear();
    add_document(window * window_documents_ + in_window / unit_size(), opened);
    const auto i = static_cast<size_t>(in_window % unit_size());
    const int64_t count = std::min(opened.positions[i] - from, options_.seq_len - filled);
    out.push_back({opened.documents[i], from, static_cast<int32_t>(count)});
    filled += count;
  }
  return out;
}

void TokenRows::fill(int64_t row, const RowView& out) {
  size_t filled = 0;
  int32_t segment = 0;
  std::vector<int32_t> ids;
  for (const RowPart& part : parts(row)) {
    ids.resize(static_cast<size_t>(part.count) + 1);
    file_.read(part.document, part.from, ids, options_.vocab_size, options_.tokenizer);
    fill_segment(out, filled, ids, ++segment);
    if (learned_)
      ignore_unlearned(part, out.target_labels.subspan(filled, static_cast<size_t>(part.count)));
    filled += static_cast<size_t>(part.count);
  }
  fill_padding_from(out, filled);
  mark_pair(out, packs_pairs());
}

void TokenRows::check_flags(int64_t document) const {
  if (learned_->length(document) == file_.length(document)) return;
  throw DataError(fmt::format("{}: document {}: expected {} flags, one for each id, got {}",
                              learned_->ids_path(), document, file_.length(document),
                              learned_->length(document)));
}

void TokenRows::ignore_unlearned(const RowPart& part, std::span<int32_t> labels) const {
  check_flags(part.document);
  std::vector<int32_t> flags(labels.size());
  learned_->read(part.document, part.from + 1, flags);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (flags[i] == 0) labels[i] = kIgnoredLabel;
  }
}

uint64_t TokenRows::fingerprint() const {
  std::string content = storage_error_as<DataError>([&] {
    return card_ ? card_->ids.sha256 + card_->index.sha256
                 : fmt::format("{:x} {:x}", hash_of_ends(file_.index_path()),
                               hash_of_ends(file_.ids_path()));
  });
  if (learned_) {
    content += storage_error_as<DataError>(
        [&] { return fmt::format(" {:x}", hash_of_ends(learned_->ids_path())); });
  }
  return xxh3_64(fmt::format("{} {} {} {} {} {} {} {} {}", content, options_.seq_len,
                             to_text(options_.packing), to_text(options_.long_documents),
                             to_text(options_.split),
                             options_.split == Split::kAll ? 0 : options_.held_out_fraction,
                             options_.max_documents.value_or(-1), options_.is_shuffled,
                             options_.is_shuffled ? options_.seed : 0));
}

}  // namespace axle
