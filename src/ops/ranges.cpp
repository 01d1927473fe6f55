#include "ops/ranges.h"

#include <algorithm>
#include <cmath>

namespace axle {
namespace {

constexpr ValueRange kEither{0, 1};

ValueRange hull(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace

ValueRange range_at_bounds(const OpNode& op, std::span<const ValueRange> x) {
  const auto dtype_of = [](DType dtype) {
    return dtype == DType::kPred ? DType::kPred : DType::kF64;
  };
  // Element c has operand i at its upper bound if bit i of c is set.
  const auto num_corners = int64_t{1} << x.size();
  std::vector<HostTensor> bounds;
  for (size_t i = 0; i < x.size(); ++i) {
    HostTensor of_operand(Type{DType::kF64, {num_corners}});
    const auto values = of_operand.values<double>();
    for (size_t c = 0; c < values.size(); ++c) values[c] = c >> i & 1 ? x[i].high : x[i].low;
    bounds.push_back(of_operand.astype(dtype_of(op.inputs[i].dtype())));
  }
  std::vector<const HostTensor*> operands;
  for (const HostTensor& bound : bounds) operands.push_back(&bound);
  HostTensor results(Type{dtype_of(op.outputs[0].dtype), {num_corners}});
  op.rules->row().eval({}, op, operands, std::span(&results, 1));
  ValueRange out{results.at(0), results.at(0)};
  for (int64_t c = 0; c < num_corners; ++c) {
    if (std::isnan(results.at(c))) return {};
    out = hull(out, {results.at(c), results.at(c)});
  }
  return out;
}

ValueRange range_of_predicates(const OpNode& op, std::span<const ValueRange> x) {
  return op.inputs[0].dtype() == DType::kPred ? range_at_bounds(op, x) : ValueRange{};
}

ValueRange range_of_quotient(const OpNode& op, std::span<const ValueRange> x) {
  if (x[1].low <= 0 && x[1].high >= 0) return {};
  const ValueRange exact = range_at_bounds(op, x);
  if (!is_integer(op.outputs[0].dtype)) return exact;
  return {std::trunc(exact.low), std::trunc(exact.high)};
}

ValueRange range_of_remainder(const OpNode& op, std::span<const ValueRange> x) {
  if (!is_integer(op.outputs[0].dtype) || !x[1].is_one() || x[1].low <= 0) return {};
  const double divisor = x[1].low;
  const auto quotient = [&](double value) { return std::trunc(value / divisor); };
  // All dividends of one quotient are as far apart as their remainders.
  if (quotient(x[0].low) == quotient(x[0].high) && x[0].low * x[0].high >= 0)
    return {std::fmod(x[0].low, divisor), std::fmod(x[0].high, divisor)};
  return {x[0].low < 0 ? 1 - divisor : 0, x[0].high > 0 ? divisor - 1 : 0};
}

ValueRange range_of_magnitude(const OpNode&, std::span<const ValueRange> x) {
  const double a = std::abs(x[0].low), b = std::abs(x[0].high);
  return {x[0].low <= 0 && x[0].high >= 0 ? 0 : std::min(a, b), std::max(a, b)};
}

ValueRange range_of_equal(const OpNode&, std::span<const ValueRange> x) {
  if (x[0].is_one() && x[0] == x[1]) return {1, 1};
  const bool may_be = x[0].low <= x[1].high && x[1].low <= x[0].high;
  return may_be ? kEither : ValueRange{0, 0};
}

ValueRange range_of_unequal(const OpNode& op, std::span<const ValueRange> x) {
  const ValueRange equal = range_of_equal(op, x);
  return {1 - equal.high, 1 - equal.low};
}

ValueRange range_of_choice(const OpNode&, std::span<const ValueRange> x) {
  return x[0].is_one() ? x[x[0].low == 1 ? 1 : 2] : hull(x[1], x[2]);
}

}  // namespace axle
