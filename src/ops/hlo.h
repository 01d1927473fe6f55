// Pieces of StableHLO that several lowering rules write.
#pragma once

#include <string_view>
#include <vector>

#include "ir/hlo_builder.h"

namespace axle {

/// Everywhere `value`, of the type of x.
HloValue hlo_splat_like(HloBuilder& b, const HloValue& x, Scalar value);
/// "stablehlo.<name>" whose operands have one type, which is the result's too.
HloValue hlo_map(HloBuilder& b, std::string_view name, const HloValues& x);
HloValue hlo_convert(HloBuilder& b, const HloValue& x, DType dtype);
enum class Order { kPartial, kTotal };
/// `direction` is EQ, NE, LT, LE, GT or GE; the total order puts -NaN < -inf < -0 < 0 < inf < NaN.
HloValue hlo_compare(HloBuilder& b, std::string_view direction, const HloValue& x,
                     const HloValue& y, Order order = Order::kPartial);
HloValue hlo_select(HloBuilder& b, const HloValue& p, const HloValue& x, const HloValue& y);
/// Dim i of x becomes dim dims[i].
HloValue hlo_broadcast(HloBuilder& b, const HloValue& x, const Shape& shape,
                       const std::vector<int64_t>& dims);
/// Combines the elements along `dims` by "stablehlo.<name>", starting from `init`; the dims vanish.
HloValue hlo_reduce(HloBuilder& b, std::string_view name, const HloValue& x, Scalar init,
                    const std::vector<int64_t>& dims);
/// Sorts the operands together along `axis`, stably; the first `num_keys` are compared by
/// `direction` (LT or GT) with -0 = 0 and NaN above all.
HloValues hlo_sort(HloBuilder& b, const HloValues& x, int64_t axis, size_t num_keys,
                   std::string_view direction);
/// Shape without `dims` (ascending), and the dims that stay.
Shape without_dims(const Shape& shape, const std::vector<int64_t>& dims);
std::vector<int64_t> other_dims(int64_t rank, const std::vector<int64_t>& dims);

}  // namespace axle
