#include "ops/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"

namespace axle {

std::vector<Type> same_type(const OpNode& op) {
  const Type& first = op.inputs[0].type();
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    const Type& other = op.inputs[i].type();
    if (other.dtype != first.dtype) {
      shape_error(
          op, fmt::format("operands must have one dtype, got {} and {}; convert one with astype",
                          name_of(first.dtype), name_of(other.dtype)));
    }
    if (other.dims != first.dims) {
      shape_error(op, fmt::format("operands must have one shape, got {} and {}",
                                  to_text(first.dims), to_text(other.dims)));
    }
  }
  return std::vector<Type>(1, first);
}

void check_real_or_complex(const OpNode& op) {
  const DType dtype = op.inputs[0].dtype();
  if (dtype == DType::kPred)
    shape_error(op, "expected numbers to compute with, got pred; convert with astype");
}

std::vector<Type> same_type_real_or_complex(const OpNode& op) {
  check_real_or_complex(op);
  return same_type(op);
}

void check_numbers(const OpNode& op) {
  check_real_or_complex(op);
  check_ordered(op);
}

void check_ordered(const OpNode& op) {
  const DType dtype = op.inputs[0].dtype();
  if (is_complex(dtype))
    shape_error(op, fmt::format("expected numbers that have an order, got {}", name_of(dtype)));
}

std::vector<Type> same_ordered_type(const OpNode& op) {
  check_ordered(op);
  return same_type(op);
}

std::vector<Type> pred_of_ordered(const OpNode& op) {
  check_ordered(op);
  return pred_of_same_shape(op);
}

std::vector<Type> same_type_numbers(const OpNode& op) {
  check_numbers(op);
  return same_type(op);
}

std::vector<Type> same_float_type(const OpNode& op) {
  if (!is_float(op.inputs[0].dtype())) {
    shape_error(op, fmt::format("expected a floating-point operand, got {}",
                                name_of(op.inputs[0].dtype())));
  }
  return same_type(op);
}

std::vector<Type> same_integer_type(const OpNode& op) {
  if (!is_integer(op.inputs[0].dtype())) {
    shape_error(op,
                fmt::format("expected an integer operand, got {}", name_of(op.inputs[0].dtype())));
  }
  return same_type(op);
}

std::vector<Type> same_integer_or_pred_type(const OpNode& op) {
  if (is_differentiable(op.inputs[0].dtype())) {
    shape_error(
        op, fmt::format("expected integers or predicates, got {}", name_of(op.inputs[0].dtype())));
  }
  return same_type(op);
}

std::vector<Type> pred_of_same_shape(const OpNode& op) {
  return {Type{DType::kPred, same_type(op)[0].dims}};
}

double num_input_elements(const OpNode& op) {
  return static_cast<double>(op.inputs[0].type().num_elements());
}

double zero_value(DType) { return 0; }

double lowest_value(DType dtype) { return -highest_value(dtype); }

double highest_value(DType dtype) {
  constexpr double kLargestF8E4M3FN = 448;
  return dtype == DType::kF8E4M3FN ? kLargestF8E4M3FN : std::numeric_limits<double>::infinity();
}

int64_t normalized_axis(std::string_view op, const Tensor& x, int64_t axis) {
  const int64_t normalized = axis < 0 ? axis + x.rank() : axis;
  if (normalized < 0 || normalized >= x.rank()) {
    shape_error(op, fmt::format("expected an axis of {} dims, got {}", x.rank(), axis), {x});
  }
  return normalized;
}

std::vector<int64_t> normalized_axes(std::string_view op, const Tensor& x,
                                     std::vector<int64_t> axes) {
  for (int64_t& axis : axes) axis = normalized_axis(op, x, axis);
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) {
    shape_error(op, fmt::format("expected different axes, got {}", to_text(axes)), {x});
  }
  return axes;
}

void eval_identity(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                   std::span<HostTensor> y) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = *x[i];
}

HloValues hlo_identity(const OpNode&, HloBuilder&, const HloValues& x) { return x; }

Tensor wide(const Tensor& x) { return astype(x, wide_dtype(x.dtype())); }

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

namespace {

int64_t own_rank(BatchX x, size_t i) { return x[i].rank() - (x.is_batched(i) ? 1 : 0); }

}  // namespace

Tensor with_batch_dim(BatchX x, size_t i) {
  if (x.is_batched(i)) return x[i];
  return broadcast_in_dim(x[i], prepended(x.axis().size, x[i].shape()),
                          axis_range(1, x[i].rank() + 1));
}

Values with_batch_dims(BatchX x) {
  Values out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(with_batch_dim(x, i));
  return out;
}

std::vector<Batched> all_batched(const Values& results) {
  std::vector<Batched> out;
  for (const Tensor& t : results) out.push_back({t, true});
  return out;
}

std::vector<Batched> emit_batched(BatchX x, std::shared_ptr<const Attributes> attributes) {
  return all_batched(emit_all(*x.op().rules, with_batch_dims(x), std::move(attributes)));
}

std::vector<int64_t> shifted(std::vector<int64_t> axes) {
  for (int64_t& axis : axes) ++axis;
  return axes;
}

std::vector<int64_t> prepended(int64_t first, std::vector<int64_t> rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

Tensor select_examples(const Tensor& is_chosen, const Tensor& a, const Tensor& b) {
  return select(broadcast_in_dim(is_chosen, a.shape(), {0}), a, b);
}

std::vector<Batched> elementwise(BatchX x) {
  int64_t rank = 0;
  for (size_t i = 0; i < x.size(); ++i) rank = std::max(rank, own_rank(x, i));
  const auto is_scalar = [&](size_t i) { return own_rank(x, i) < rank; };
  Shape shape;  // of the operands that are no scalars, with the batch dim
  for (size_t i = 0; i < x.size(); ++i) {
    if (is_scalar(i)) continue;
    shape = x.is_batched(i) ? x[i].shape() : prepended(x.axis().size, x[i].shape());
  }
  Values operands;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!is_scalar(i))
      operands.push_back(with_batch_dim(x, i));
    else
      operands.push_back(x.is_batched(i) ? broadcast_in_dim(x[i], shape, {0}) : x[i]);
  }
  return all_batched(emit_all(*x.op().rules, std::move(operands), x.op().attributes));
}

std::vector<Batched> trailing_dims(BatchX x) { return emit_batched(x, x.op().attributes); }

std::vector<Batched> each_operand(BatchX x) {
  Values operands;
  for (const Batched& v : x.values()) operands.push_back(v.value);
  const Values results = emit_all(*x.op().rules, std::move(operands), x.op().attributes);
  std::vector<Batched> out;
  for (size_t i = 0; i < results.size(); ++i) out.push_back({results[i], x.is_batched(i)});
  return out;
}

std::vector<Batched> along_axis(BatchX x) {
  return emit_batched(x, AxisAttributes(x.attrs<AxisAttributes>().axis + 1));
}

std::unique_ptr<Region> trace_part(const OpNode& op, const std::vector<Type>& parameters,
                                   const std::function<Values(const Values&)>& body) {
  auto region = std::make_unique<Region>();
  const TraceScope trace(*region);
  const OriginScope origin(op);
  const PhaseScope phase(op.phase);
  Values arguments;
  for (const Type& type : parameters) arguments.push_back(region->add_parameter(type));
  region->set_results(body(arguments));
  return region;
}

std::unique_ptr<Region> trace_formula(const OpNode& op, CompositeFormula formula) {
  return trace_part(op, types_of(op.inputs), [&](const Values& x) { return formula(op, x); });
}

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

HloValue hlo_byte_of(HloBuilder& b, const HloValue& x) {
  const bool is_signed = x.type.dtype == DType::kI4;
  const Type type{is_signed ? DType::kI8 : DType::kU8, x.type.dims};
  const HloValue byte = b.one("stablehlo.convert", {x}, type);
  if (!is_signed) return b.one("stablehlo.and", {byte, b.splat(type, 15)}, type);
  const HloValue half = b.splat(type, 4);
  const HloValue high = b.one("stablehlo.shift_left", {byte, half}, type);
  return b.one("stablehlo.shift_right_arithmetic", {high, half}, type);
}

}  // namespace axle
