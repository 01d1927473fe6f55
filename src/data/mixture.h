// Which of several sources provides each row of a mixture.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace axle {

/// Rows of k sources in the proportions of their weights: of the first n rows, source i has given
/// n * weight_i / (sum of weights) to within 1 - 1 / (2k - 2), for every n. A source may end; from
/// there on, the others share the rows in their proportions, with the same bound. The choice
/// depends on the arguments alone.
///
/// Takes O(k) a row in order, and up to one period, the sum of the weights without their common
/// divisor, after a jump.
///
/// Source: Tijdeman 1980, "The chairman assignment problem", Discrete Mathematics 32.
class Mixture {
 public:
  struct Row {
    size_t source = 0;
    int64_t index = 0;  // of the source's rows, from 0
  };
  /// A weight, at least 1, and the number of rows that the source has; none: without end.
  struct Part {
    int64_t weight = 1;
    std::optional<int64_t> num_rows = {};
  };
  /// The longest period.
  static constexpr int64_t kMaxPeriod = 10'000'000;

  explicit Mixture(std::vector<Part> parts);
  /// Returns the number of rows of all sources; none: without end.
  std::optional<int64_t> num_rows() const { return num_rows_; }
  /// Returns row number `row`, below num_rows(). Fastest for a row behind the last one asked for.
  Row at(int64_t row);

 private:
  // From here on, the sources that have rows left share them.
  struct Phase {
    int64_t begin = 0;
    std::vector<size_t> sources = {};
    std::vector<int64_t> weights = {};  // without their common divisor
    std::vector<int64_t> taken = {};    // rows of each before the phase
    int64_t period = 1;
  };
  Phase phase_from(int64_t begin, const std::vector<int64_t>& taken) const;
  void add_phases();
  size_t next_source(const Phase& phase) const;
  void enter(size_t phase, int64_t row);
  void step();

  std::vector<Part> parts_;
  std::vector<Phase> phases_;
  std::optional<int64_t> num_rows_;
  // Where at() stands: rows of the phase that were given, of each source.
  size_t phase_ = 0;
  int64_t given_ = 0;
  std::vector<int64_t> counts_ = {};
};

/// Returns integers in the proportions of weights of at most six decimals. Throws ConfigError
/// "<where>: ..." if the period would be longer than Mixture::kMaxPeriod.
std::vector<int64_t> integer_weights(const std::vector<double>& weights, std::string_view where);

}  // namespace axle
