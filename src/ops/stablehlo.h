// StableHLO snippets shared by several lowering rules.
#pragma once

#include <string_view>
#include <vector>

#include "ir/hlo_builder.h"

namespace axle {

/// Writes a constant of the type of x whose elements are all `value`.
HloValue hlo_splat_like(HloBuilder& b, const HloValue& x, Scalar value);
/// Writes "stablehlo.<name>" for an elementwise op: the result has the type of x[0].
HloValue hlo_map(HloBuilder& b, std::string_view name, const HloValues& x);
enum class Order { kPartial, kTotal };
/// Compares x and y. `direction` is EQ, NE, LT, LE, GT or GE. In the total order of floats,
/// -NaN < -inf < -0 < 0 < inf < NaN.
HloValue hlo_compare(HloBuilder& b, std::string_view direction, const HloValue& x,
                     const HloValue& y, Order order = Order::kPartial);
HloValue hlo_select(HloBuilder& b, const HloValue& p, const HloValue& x, const HloValue& y);
/// Broadcasts x to `shape`; dim i of x becomes dim dims[i].
HloValue hlo_broadcast(HloBuilder& b, const HloValue& x, const Shape& shape,
                       const std::vector<int64_t>& dims);
/// Returns the region that combines two scalars of a dtype by "stablehlo.<name>".
HloRegion hlo_combiner(HloBuilder& b, std::string_view name, DType dtype);
/// Reduces `dims` by "stablehlo.<name>", starting from `init`. `dims` are ascending.
HloValue hlo_reduce(HloBuilder& b, std::string_view name, const HloValue& x, Scalar init,
                    const std::vector<int64_t>& dims);
/// Sorts the operands together along `axis`; the sort is stable. The first `num_keys` operands are
/// the keys, compared by `direction` (LT or GT) with -0 = 0 and NaN above all other values.
HloValues hlo_sort(HloBuilder& b, const HloValues& x, int64_t axis, size_t num_keys,
                   std::string_view direction);

}  // namespace axle
