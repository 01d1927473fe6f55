#include "data/packed_batches.h"

#include <fmt/format.h>

#include <numeric>

#include "base/hash.h"
#include "data/input.h"
#include "data/random.h"

namespace axle {
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
