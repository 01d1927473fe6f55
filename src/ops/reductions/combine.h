// The ways in which reductions combine two elements. Each has the function, its name in StableHLO
// and its identity: the result of combining nothing.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>

#include "ops/movement/window_rules.h"
#include "ops/rules.h"

namespace axle {

namespace combine {

struct Add {
  static constexpr const char* kHlo = "add";
  static double identity(DType dtype) { return zero_value(dtype); }
  template <detail::RealOrComplex T>
  T operator()(T a, T b) const {
    return detail::wrapping(a, b, [](auto p, auto q) { return p + q; });
  }
};
struct Multiply {
  static constexpr const char* kHlo = "multiply";
  static double identity(DType) { return 1; }
  template <detail::Number T>
  T operator()(T a, T b) const {
    return detail::wrapping(a, b, [](auto p, auto q) { return p * q; });
  }
};
struct Larger {
  static constexpr const char* kHlo = "maximum";
  static double identity(DType dtype) { return lowest_value(dtype); }
  template <detail::Number T>
  T operator()(T a, T b) const {
    return detail::larger(a, b);
  }
};
struct Smaller {
  static constexpr const char* kHlo = "minimum";
  static double identity(DType dtype) { return highest_value(dtype); }
  template <detail::Number T>
  T operator()(T a, T b) const {
    return detail::smaller(a, b);
  }
};

}  // namespace combine

/// Calls visit(line) for the elements of x that are combined and their elements of y: their
/// positions, those of x first. It is no template, so that it is compiled only once for all dtypes.
using FoldWalk = void (*)(const OpNode& op, const Shape& x, const Shape& y,
                          const std::function<void(const LinePair&)>& visit);

/// Returns the eval rule that starts with the identity and combines each element of y with the
/// elements of x to which `walk` leads. Does nothing if Combine does not take the dtype: the infer
/// rule has refused it.
template <class Combine>
EvalRule fold(FoldWalk walk) {
  return [walk](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) {
    dispatch_any(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
      using A = detail::Accumulator<T>;
      if constexpr (std::is_invocable_v<Combine, A, A>) {
        const Combine combine;
        const auto size = static_cast<size_t>(y[0].size());
        const auto results = std::make_unique_for_overwrite<A[]>(size);
        // The identity of an integer dtype is an extreme of this dtype, not of its accumulator.
        const auto identity = convert_element<T>(Combine::identity(y[0].dtype()));
        std::fill_n(results.get(), size, convert_element<A>(identity));
        const auto in = x[0]->values<T>();
        walk(op, x[0]->shape(), y[0].shape(), [&](const LinePair& line) {
          const T* const from = in.data() + line.a;
          A* const to = results.get() + line.b;
          if (line.b_step == 0) {
            A result = *to;
            for (int64_t k = 0; k < line.count; ++k)
              result = combine(A(result), convert_element<A>(from[k * line.a_step]));
            *to = result;
          } else {
            for (int64_t k = 0; k < line.count; ++k)
              to[k * line.b_step] =
                  combine(A(to[k * line.b_step]), convert_element<A>(from[k * line.a_step]));
          }
        });
        std::transform(results.get(), results.get() + size, y[0].values<T>().begin(),
                       [](A v) { return convert_element<T>(v); });
      }
    });
  };
}

}  // namespace axle
