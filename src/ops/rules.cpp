#include "ops/rules.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise/convert.h"

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

}  // namespace axle
