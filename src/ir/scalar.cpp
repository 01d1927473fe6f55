#include "ir/scalar.h"

#include <fmt/format.h>

namespace axle {

bool Scalar::fits(DType dtype) const {
  if (dtype == DType::kPred) return std::visit([](auto v) { return v == 0 || v == 1; }, value_);
  if (!is_integer(dtype)) return true;
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<Computed<T>> && !std::is_same_v<T, bool>) {
      using Range = IntegerRange<T>;
      if (const auto* const v = std::get_if<double>(&value_)) {
        // The largest integer may be rounded up as a double. One more than it is a power of two,
        // which a double holds exactly.
        constexpr double kEnd = 2 * (static_cast<double>(Range::kMax / 2) + 1);
        return *v == std::floor(*v) && *v >= static_cast<double>(Range::kMin) && *v < kEnd;
      }
      const auto in_range = [](auto v) {
        return std::cmp_greater_equal(v, Range::kMin) && std::cmp_less_equal(v, Range::kMax);
      };
      if (const auto* const v = std::get_if<uint64_t>(&value_)) return in_range(*v);
      return in_range(std::get<int64_t>(value_));
    }
    return true;
  });
}

std::string Scalar::text() const {
  // The default format of doubles has the fewest digits from which they can be read back.
  return std::visit([](auto v) { return fmt::format("{}", v); }, value_);
}

}  // namespace axle
