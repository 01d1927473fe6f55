#include "data/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace axle {

Mixture::Mixture(std::vector<Part> parts) : parts_(std::move(parts)) {
  add_phases();
  enter(0, 0);
}

Mixture::Phase Mixture::phase_from(int64_t begin, const std::vector<int64_t>& taken) const {
  Phase out{.begin = begin};
  int64_t divisor = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].num_rows && taken[i] >= *parts_[i].num_rows) continue;
    out.sources.push_back(i);
    out.weights.push_back(parts_[i].weight);
    out.taken.push_back(taken[i]);
    divisor = std::gcd(divisor, parts_[i].weight);
  }
  for (int64_t& weight : out.weights) weight /= divisor;
  out.period = std::accumulate(out.weights.begin(), out.weights.end(), int64_t{0});
  return out;
}

// A phase ends behind the row that is the last of a source.
void Mixture::add_phases() {
  std::vector<int64_t> taken(parts_.size());
  for (int64_t begin = 0;;) {
    Phase phase = phase_from(begin, taken);
    if (phase.sources.empty()) {
      num_rows_ = begin;
      return;
    }
    // Whole periods without an end.
    std::optional<int64_t> periods;
    for (size_t k = 0; k < phase.sources.size(); ++k) {
      const auto& rows = parts_[phase.sources[k]].num_rows;
      if (!rows) continue;
      const int64_t whole = (*rows - phase.taken[k] - 1) / phase.weights[k];
      periods = std::min(periods.value_or(whole), whole);
    }
    phases_.push_back(phase);
    if (!periods) return;
    enter(phases_.size() - 1, begin + *periods * phase.period);
    for (bool ends = false; !ends;) {
      const size_t k = next_source(phase);
      ++counts_[k];
      ++given_;
      ends = phase.taken[k] + counts_[k] == parts_[phase.sources[k]].num_rows.value_or(-1);
    }
    begin += given_;
    for (size_t k = 0; k < phase.sources.size(); ++k) taken[phase.sources[k]] += counts_[k];
  }
}

// Of the sources that are far enough behind, the one whose row is due first.
size_t Mixture::next_source(const Phase& phase) const {
  using Wide = __int128;
  const size_t k = phase.sources.size();
  if (k == 1) return 0;
  const Wide scale = 2 * static_cast<Wide>(k) - 2, period = phase.period;
  std::optional<size_t> best;
  Wide best_due = 0;
  for (size_t i = 0; i < k; ++i) {
    const Wide behind = static_cast<Wide>(phase.weights[i]) * (given_ + 1) - counts_[i] * period;
    if (behind * scale < period) continue;
    const Wide due = (scale - 1) * period - scale * behind;  // times the source's time a row
    if (!best || due * phase.weights[*best] < best_due * phase.weights[i]) {
      best = i;
      best_due = due;
    }
  }
  AXLE_CHECK(best.has_value(), "some source is behind");
  return *best;
}

void Mixture::enter(size_t phase, int64_t row) {
  phase_ = phase;
  const Phase& entered = phases_.empty() ? Phase{} : phases_[phase];
  const int64_t periods = (row - entered.begin) / entered.period;
  counts_ = entered.weights;
  for (int64_t& count : counts_) count *= periods;
  given_ = periods * entered.period;
  while (entered.begin + given_ < row) step();
}

void Mixture::step() {
  ++counts_[next_source(phases_[phase_])];
  ++given_;
}

Mixture::Row Mixture::at(int64_t row) {
  const auto behind = std::ranges::upper_bound(phases_, row, {}, &Phase::begin);
  const auto wanted = static_cast<size_t>(behind - phases_.begin()) - 1;
  if (wanted != phase_ || row < phases_[wanted].begin + given_ ||
      row > phases_[wanted].begin + given_ + phases_[wanted].period)
    enter(wanted, row);
  const Phase& phase = phases_[phase_];
  while (phase.begin + given_ < row) step();
  const size_t k = next_source(phase);
  return {phase.sources[k], phase.taken[k] + counts_[k]};
}

std::vector<int64_t> integer_weights(const std::vector<double>& weights, std::string_view where) {
  constexpr double kScale = 1e6;
  std::vector<int64_t> out;
  int64_t divisor = 0;
  double sum = 0;
  for (const double weight : weights) {
    const double scaled = std::round(weight * kScale);
    if (scaled < 1 || scaled > 1e15) {
      throw ConfigError(fmt::format("{}: expected weights of 1e-6 to 1e9, got {}", where, weight));
    }
    out.push_back(static_cast<int64_t>(scaled));
    divisor = std::gcd(divisor, out.back());
    sum += scaled;
  }
  for (int64_t& weight : out) weight /= divisor;
  if (sum / static_cast<double>(divisor) > static_cast<double>(Mixture::kMaxPeriod)) {
    throw ConfigError(fmt::format(
        "{}: expected weights that repeat within {} rows, got some that need {:.0f}; write them "
        "with fewer digits",
        where, Mixture::kMaxPeriod, sum / static_cast<double>(divisor)));
  }
  return out;
}

}  // namespace axle
