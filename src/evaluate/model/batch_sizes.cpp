#include "evaluate/model/batch_sizes.h"

#include <algorithm>
#include <bit>

namespace axle {
namespace {

constexpr int64_t kLeastRowLen = 16, kLeastScored = 4;

int64_t floor_of_power(int64_t n) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n)));
}
int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

}  // namespace

int64_t row_bucket(int64_t len, std::optional<int64_t> most) {
  const int64_t out =
      std::max(kLeastRowLen, round_up(len, std::max<int64_t>(1, floor_of_power(len) / 2)));
  return std::min(out, most.value_or(out));
}

int64_t scored_bucket(int64_t count) {
  int64_t out = kLeastScored;
  while (out < count) out *= 4;
  return out;
}

int64_t batch_rows(const ScoringParts& parts, const ScorerOptions& options, int64_t row_len,
                   int64_t num_scored, int64_t num_rows) {
  const int64_t most = std::max<int64_t>(
      1, std::min(options.batch_tokens / row_len,
                  options.batch_logits / (num_scored * parts.model.vocab_size())));
  const int64_t shares =
      parts.batch_partition.dims.empty()
          ? 1
          : num_parts(restrict(parts.batch_partition, parts.mesh).dims[0], parts.mesh);
  const int64_t rows = std::min(
      floor_of_power(most), static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(num_rows))));
  return round_up(rows, shares);
}

}  // namespace axle
