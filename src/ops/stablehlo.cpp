#include "ops/stablehlo.h"

#include <fmt/format.h>

#include "ops/dims.h"

namespace axle {

HloValue hlo_splat_like(HloBuilder& b, const HloValue& x, Scalar value) {
  return b.splat(x.type, value);
}

HloValue hlo_map(HloBuilder& b, std::string_view name, const HloValues& x) {
  return b.one(fmt::format("stablehlo.{}", name), x, x[0].type);
}

HloValue hlo_compare(HloBuilder& b, std::string_view direction, const HloValue& x,
                     const HloValue& y, Order order) {
  const DType dtype = x.type.dtype;
  const char* kind = !is_float(dtype)
                         ? (is_unsigned(dtype) || dtype == DType::kPred ? "UNSIGNED" : "SIGNED")
                     : order == Order::kTotal ? "TOTALORDER"
                                              : "FLOAT";
  return b.one("stablehlo.compare", {x, y}, {DType::kPred, x.type.dims},
               fmt::format("comparison_direction = #stablehlo<comparison_direction {}>, "
                           "compare_type = #stablehlo<comparison_type {}>",
                           direction, kind));
}

HloValue hlo_select(HloBuilder& b, const HloValue& p, const HloValue& x, const HloValue& y) {
  return b.one("stablehlo.select", {p, x, y}, x.type);
}

HloValue hlo_broadcast(HloBuilder& b, const HloValue& x, const Shape& shape,
                       const std::vector<int64_t>& dims) {
  return b.one("stablehlo.broadcast_in_dim", {x}, {x.type.dtype, shape},
               "broadcast_dimensions = " + mlir_array(dims));
}

HloRegion hlo_combiner(HloBuilder& b, std::string_view name, DType dtype) {
  const Type element{dtype, {}};
  return {{element, element}, [&b, op = std::string(name)](const HloValues& v) {
            return HloValues{hlo_map(b, op, v)};
          }};
}

HloValue hlo_reduce(HloBuilder& b, std::string_view name, const HloValue& x, Scalar init,
                    const std::vector<int64_t>& dims) {
  const DType dtype = x.type.dtype;
  return b.one("stablehlo.reduce", {x, b.splat({dtype, {}}, init)},
               {dtype, without_dims(x.type.dims, dims)}, "dimensions = " + mlir_array(dims),
               {hlo_combiner(b, name, dtype)});
}

namespace {

// Maps both zeros to one bit pattern and all NaNs to one bit pattern, so that in the total order
// -0 = 0 and NaN is above all other values.
HloValue canonical(HloBuilder& b, const HloValue& x) {
  if (!is_float(x.type.dtype)) return x;
  const HloValue zero = hlo_splat_like(b, x, 0);
  const HloValue one_zero = hlo_select(b, hlo_compare(b, "EQ", x, zero), zero, x);
  const HloValue nan = hlo_splat_like(b, x, std::numeric_limits<double>::quiet_NaN());
  return hlo_select(b, hlo_compare(b, "NE", x, x), nan, one_zero);
}

}  // namespace

HloValues hlo_sort(HloBuilder& b, const HloValues& x, int64_t axis, size_t num_keys,
                   std::string_view direction) {
  std::vector<Type> parameters, results;
  for (const HloValue& v : x) {
    parameters.insert(parameters.end(), 2, Type{v.type.dtype, {}});
    results.push_back(v.type);
  }
  // v holds (left, right) of each operand. The first key in which they differ decides.
  const auto before = [&](const HloValues& v) {
    std::optional<HloValue> result;
    for (size_t i = num_keys; i-- > 0;) {
      const HloValue left = canonical(b, v[2 * i]), right = canonical(b, v[2 * i + 1]);
      const HloValue decided = hlo_compare(b, direction, left, right, Order::kTotal);
      if (result) {
        const HloValue tie = hlo_compare(b, "EQ", left, right, Order::kTotal);
        result = hlo_map(b, "or", {decided, hlo_map(b, "and", {tie, *result})});
      } else {
        result = decided;
      }
    }
    return HloValues{*result};
  };
  return b.op("stablehlo.sort", x, results,
              fmt::format("dimension = {} : i64, is_stable = true", axis),
              {HloRegion{parameters, before}});
}

}  // namespace axle
