#include "ops/create.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ir/op_rules.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct FullAttributes : Attributes {
  FullAttributes(Type t, Scalar v) : type(std::move(t)), value(v) {}
  Type type;
  Scalar value;
  std::string text() const override { return "value = " + value.text(); }
};

struct ConstantAttributes : Attributes {
  explicit ConstantAttributes(HostTensor v) : value(std::move(v)) {}
  HostTensor value;
  std::string text() const override { return value.text(1 << 16); }
};

struct IotaAttributes : Attributes {
  IotaAttributes(Type t, int64_t a) : type(std::move(t)), axis(a) {}
  Type type;
  int64_t axis;
  std::string text() const override { return fmt::format("axis = {}", axis); }
};

const OpRules full_rules(
    {.name = "full",
     .infer = [](const OpNode& op) { return std::vector<Type>{op.attrs<FullAttributes>().type}; },
     .batch = no_operands,
     .vjp = no_gradient,
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const>,
            std::span<HostTensor> y) {
           y[0] = HostTensor::full(y[0].shape(), op.attrs<FullAttributes>().value, y[0].dtype());
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues&) {
           return HloValues{b.splat(op.outputs[0], op.attrs<FullAttributes>().value)};
         },
     .cost = kNoFlops,
     .traits = {.cheap = true}});

const OpRules constant_rules(
    {.name = "constant",
     .infer =
         [](const OpNode& op) {
           return std::vector<Type>{op.attrs<ConstantAttributes>().value.type()};
         },
     .batch = no_operands,
     .vjp = no_gradient,
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const>,
            std::span<HostTensor> y) {
           y[0] = op.attrs<ConstantAttributes>().value.astype(y[0].dtype());
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues&) {
           return HloValues{b.constant(op.attrs<ConstantAttributes>().value)};
         },
     .cost = kNoFlops,
     .traits = {.cheap = true}});

const OpRules iota_rules(
    {.name = "iota",
     .infer = [](const OpNode& op) { return std::vector<Type>{op.attrs<IotaAttributes>().type}; },
     .batch = no_operands,
     .vjp = no_gradient,
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const>,
            std::span<HostTensor> y) {
           const int64_t axis = op.attrs<IotaAttributes>().axis;
           const int64_t stride = row_major_strides(y[0].shape())[axis];
           const int64_t size = y[0].shape()[axis];
           dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
             const auto out = y[0].values<T>();
             for (size_t i = 0; i < out.size(); ++i)
               out[i] = convert_element<T>(static_cast<int64_t>(i) / stride % size);
           });
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues&) {
           return HloValues{
               b.one("stablehlo.iota", {}, op.outputs[0],
                     fmt::format("iota_dimension = {} : i64", op.attrs<IotaAttributes>().axis))};
         },
     .cost = kNoFlops,
     .traits = {.cheap = true}});

// Returns a tensor of this type for the op `op` over these operands.
Tensor filled(std::string_view op, Type type, Scalar value, const Values& operands = {}) {
  if (!value.fits(type.dtype)) {
    const std::string expected =
        type.dtype == DType::kPred
            ? "true or false, the values of a predicate"
            : fmt::format("a whole number in the range of {}", name_of(type.dtype));
    shape_error(op, fmt::format("expected {}, got {}", expected, value.text()), operands);
  }
  return emit(full_rules, {}, FullAttributes(std::move(type), value));
}

}  // namespace

Tensor full(const Shape& shape, Scalar value, DType dtype) {
  return filled("full", {dtype, shape}, value);
}
Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor zeros_like(const Tensor& t) { return zeros(t.shape(), t.dtype()); }
Tensor full_like(const Tensor& t, Scalar value) {
  return filled("full_like", t.type(), value, {t});
}
Tensor scalar(Scalar value, DType dtype) { return filled("scalar", {dtype, {}}, value); }
Tensor full_for(std::string_view op, const Tensor& operand, const Shape& shape, Scalar value) {
  return filled(op, {operand.dtype(), shape}, value, {operand});
}
Tensor emit_with_number(const OpRules& rules, const Tensor& a, Scalar b) {
  return emit(rules, {a, full_for(rules.name(), a, a.shape(), b)});
}
Tensor emit_with_number(const OpRules& rules, Scalar a, const Tensor& b) {
  return emit(rules, {full_for(rules.name(), b, b.shape(), a), b});
}

Tensor constant(const HostTensor& value) {
  if (value.type().num_bytes() > kMaxConstantBytes) {
    shape_error("constant",
                fmt::format("expected at most {} bytes, got {} of {} bytes; pass it as an argument",
                            kMaxConstantBytes, to_text(value.type()), value.type().num_bytes()));
  }
  return emit(constant_rules, {}, ConstantAttributes(value));
}

std::optional<Scalar> splat_of(const Tensor& t) {
  if (t.node()->rules != &full_rules) return {};
  return t.node()->attrs<FullAttributes>().value;
}

Tensor iota(const Shape& shape, int64_t axis, DType dtype) {
  const int64_t given = axis;
  if (axis < 0) axis += std::ssize(shape);
  if (axis < 0 || axis >= std::ssize(shape)) {
    shape_error("iota", fmt::format("expected an axis of {}, got {}", to_text(shape), given));
  }
  return emit(iota_rules, {}, IotaAttributes(Type{dtype, shape}, axis));
}

Tensor linspace(double start, double stop, int64_t count, DType dtype, StopValue last) {
  check_at_least("linspace", "a count", count, 0);
  if (!is_float(dtype)) {
    shape_error("linspace", fmt::format("expected a floating-point dtype, got {}", name_of(dtype)));
  }
  const bool has_stop = last == StopValue::kInclusive && count > 1;
  const int64_t steps = has_stop ? count - 1 : count;
  // Both ends are exact, whatever the rounding between them.
  const Tensor fraction = iota({steps}, 0, dtype) / steps;
  const Tensor numbers = start * (1 - fraction) + stop * fraction;
  return has_stop ? concatenate({numbers, full({1}, stop, dtype)}, 0) : numbers;
}

void check_at_least(std::string_view op, std::string_view what, int64_t value, int64_t least,
                    const Values& operands) {
  if (value < least)
    shape_error(op, fmt::format("expected {} of at least {}, got {}", what, least, value),
                operands);
}

void check_sizes(std::string_view op, std::string_view what, const Shape& sizes,
                 const Values& operands) {
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) {
    shape_error(op, fmt::format("expected {} of at least 0, got {}", what, to_text(sizes)),
                operands);
  }
}

}  // namespace axle
