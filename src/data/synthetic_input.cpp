#include "data/synthetic_input.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "base/hash.h"
#include "config/register.h"
#include "data/input.h"
#include "data/packing.h"
#include "data/random.h"

namespace axle {

SyntheticInput::SyntheticInput(const Config& cfg, const Dims& dims, const Scope& scope)
    : seq_len_(cfg.seq_len),
      batch_size_(cfg.batch_size),
      fields_{.prefix_lengths = cfg.prompt.has_value(),
              .num_streams = std::ssize(cfg.position_streams),
              .is_pair = cfg.pairs},
      prompt_len_(cfg.prompt ? cfg.prompt->share_of(seq_len_) : 0),
      streams_{.streams = cfg.position_streams},
      num_batches_(cfg.num_batches),
      dims_(dims) {
  check_batch_size(batch_size_, seq_len_, scope, fields_);
  if (num_batches_ && *num_batches_ > kMaxRow / batch_size_) {
    throw ConfigError(
        fmt::format("{}.num_batches: expected at most {} batches of {} rows, or none, got {}",
                    scope.path, kMaxRow / batch_size_, batch_size_, *num_batches_));
  }
}

std::optional<Batch> SyntheticInput::next() {
  if (num_batches_ && next_row_ >= *num_batches_ * batch_size_) return std::nullopt;
  Batch batch = make_batch(batch_size_, seq_len_, fields_);
  for (int64_t i = 0; i < batch_size_; ++i, ++next_row_) {
    SplitMix64 random(mix_seed(dims_.seed, static_cast<uint64_t>(next_row_)));
    const auto draw = [&] {
      const double u = random.uniform();
      return static_cast<int32_t>(u * u * u * static_cast<double>(dims_.vocab_size));
    };
    const RowView row = row_of(batch, i);
    int32_t token = draw();
    for (size_t t = 0; t < row.input_ids.size(); ++t) {
      row.input_ids[t] = token;
      row.target_labels[t] = token = draw();
    }
    std::ranges::fill(row.input_segment_ids, 1);
    std::iota(row.input_positions.begin(), row.input_positions.end(), 0);
    if (fields_.is_pair) {
      const auto half = static_cast<size_t>(seq_len_ / 2);
      std::ranges::fill(row.input_segment_ids.subspan(half), 2);
      std::iota(row.input_positions.begin() + static_cast<int64_t>(half), row.input_positions.end(),
                0);
      mark_pair(row, true);
    }
    std::ranges::fill(row.prefix_lengths, static_cast<int32_t>(prompt_len_));
    const auto prompt_labels = static_cast<size_t>(std::max<int64_t>(prompt_len_ - 1, 0));
    std::ranges::fill(row.target_labels.first(prompt_labels), kIgnoredLabel);
    streams_.fill(row.input_ids, row.position_streams);
    batch.num_targets += seq_len_ - static_cast<int64_t>(prompt_labels);
  }
  return batch;
}

uint64_t SyntheticInput::fingerprint() const {
  return xxh3_64(fmt::format("synthetic {} {} {}", seq_len_, dims_.vocab_size, dims_.seed));
}

std::string SyntheticInput::state() const { return to_json({next_row_, fingerprint()}); }

void SyntheticInput::restore(std::string_view state) {
  next_row_ = restored_row(state, fingerprint());
}

AXLE_REGISTER(SyntheticInput)

}  // namespace axle
