#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/dot_backward.h"
#include "ops/products/dot_eval.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct Row {
  std::string_view name;
  std::string_view mlir;  // precision of both operands; empty: that of 8-bit operands
  std::string_view sum;
  int num_products;
  std::vector<DType> operands, results;
  std::optional<DotRounding> rounding = {};
};

const Row& row(DotAlgorithm algorithm) {
  using enum DType;
  static const std::vector<DType> eight = {kF8E4M3FN, kF8E5M2};
  static const std::vector<DType> wide = {kBF16, kF16, kF32, kF64};
  static const std::vector<DType> any = {kF8E4M3FN, kF8E5M2, kF16, kBF16, kF32};
  // In the order of the enumeration.
  static const Row rows[] = {
      {"DEFAULT", "", "", 1, {}, {}},
      {"ANY_F8_ANY_F8_F32", "", "f32", 1, eight, any},
      {"ANY_F8_ANY_F8_F32_FAST_ACCUM", "", "f32", 1, eight, any},
      {"ANY_F8_ANY_F8_ANY", "", "f32", 1, eight, any},
      {"ANY_F8_ANY_F8_ANY_FAST_ACCUM", "", "f32", 1, eight, any},
      {"F16_F16_F16", "f16", "f16", 1, {kF16}, {kF16}},
      {"F16_F16_F32", "f16", "f32", 1, {kF16}, {kF32, kF16}},
      {"BF16_BF16_BF16", "bf16", "bf16", 1, {kBF16, kF32}, {kBF16}, DotRounding{7, 1, 1}},
      {"BF16_BF16_F32", "bf16", "f32", 1, {kBF16, kF32}, {kF32, kBF16}, DotRounding{7, 1, 1}},
      {"BF16_BF16_F32_X3", "bf16", "f32", 3, {kF32}, {kF32}, DotRounding{7, 2, 2}},
      {"BF16_BF16_F32_X6", "bf16", "f32", 6, {kF32}, {kF32}, DotRounding{7, 3, 3}},
      {"BF16_BF16_F32_X9", "bf16", "f32", 9, {kF32}, {kF32}, DotRounding{7, 3, 5}},
      {"TF32_TF32_F32", "tf32", "f32", 1, {kF32}, {kF32}, DotRounding{10, 1, 1}},
      {"TF32_TF32_F32_X3", "tf32", "f32", 3, {kF32}, {kF32}, DotRounding{10, 2, 2}},
      {"F32_F32_F32", "f32", "f32", 1, {kF32}, {kF32}},
      {"F64_F64_F64", "f64", "f64", 1, {kF64}, {kF64}},
      {"I8_I8_I32", "", "i32", 1, wide, wide},
      {"I8_I8_I32_BACKWARD", "", "i32", 1, wide, wide}};
  return rows[static_cast<size_t>(algorithm)];
}

bool contains(const std::vector<DType>& list, DType dtype) {
  return std::ranges::find(list, dtype) != list.end();
}

std::string names(const std::vector<DType>& dtypes) {
  std::string out;
  for (const DType d : dtypes) out.append(out.empty() ? "" : " or ").append(name_of(d));
  return out;
}

bool is_imprecise(DotAlgorithm algorithm) {
  return algorithm == DotAlgorithm::kAnyF8AnyF8F32FastAccum ||
         algorithm == DotAlgorithm::kAnyF8AnyF8AnyFastAccum;
}

}  // namespace

bool has_integers(DotAlgorithm algorithm) {
  return algorithm == DotAlgorithm::kI8I8I32 || algorithm == DotAlgorithm::kI8I8I32Backward;
}

std::string_view name_of(DotAlgorithm algorithm) { return row(algorithm).name; }

std::string mismatch(DotAlgorithm algorithm, DType a, DType b, DType result) {
  if (algorithm == DotAlgorithm::kDefault) return "";
  const Row& r = row(algorithm);
  if (!contains(r.operands, a) || !contains(r.operands, b)) {
    return fmt::format("algorithm {} expects operands of {}, got {} and {}", r.name,
                       names(r.operands), name_of(a), name_of(b));
  }
  // A narrow result of wide operands would hide a rounding that the name does not say.
  const bool narrows = r.sum == "f32" && size_bytes(a) == 4 && size_bytes(result) < 4;
  if (!contains(r.results, result) || narrows) {
    return fmt::format("algorithm {} of {} operands gives {}, got a {} result", r.name, name_of(a),
                       narrows ? "f32" : names(r.results), name_of(result));
  }
  return "";
}

std::string mlir_text(DotAlgorithm algorithm, DType a, DType b) {
  const Row& r = row(algorithm);
  return fmt::format(
      "#stablehlo.dot_algorithm<lhs_precision_type = {}, rhs_precision_type = {}, "
      "accumulation_type = {}, lhs_component_count = 1, rhs_component_count = 1, "
      "num_primitive_operations = {}, allow_imprecise_accumulation = {}>",
      r.mlir.empty() ? mlir_name(a) : r.mlir, r.mlir.empty() ? mlir_name(b) : r.mlir, r.sum,
      r.num_products, is_imprecise(algorithm));
}

std::optional<DotRounding> rounding_of(DotAlgorithm algorithm) { return row(algorithm).rounding; }

namespace {

struct DotAttributes : Attributes {
  DotAttributes(DotDims d, DotOptions o) : dims(std::move(d)), options(o) {}
  DotDims dims;
  DotOptions options;
  std::string text() const override {
    std::string out = fmt::format("contracting = {} x {}", to_text(dims.a_contracting),
                                  to_text(dims.b_contracting));
    if (!dims.a_batch.empty())
      out += fmt::format(", batch = {} x {}", to_text(dims.a_batch), to_text(dims.b_batch));
    const std::string rest = to_text(options);
    return rest.empty() ? out : out + ", " + rest;
  }
};

// Returns "x[2] = 512". A parameter is called by its own name, every other tensor by `role`.
std::string describe_dim(const Tensor& t, std::string_view role, int64_t dim) {
  std::string_view called = role;
  if (t.is_parameter() && t.node()->scope && !t.node()->scope->empty()) {
    called = *t.node()->scope;
    called.remove_prefix(called.rfind('/') + 1);
  }
  return fmt::format("{}[{}] = {}", called, dim, t.dim(dim));
}

void check_pairs(const OpNode& op, std::string_view kind, const std::vector<int64_t>& a,
                 const std::vector<int64_t>& b) {
  const Tensor &x = op.inputs[0], &y = op.inputs[1];
  if (a.size() != b.size())
    shape_error(op,
                fmt::format("{} dims must pair up, got {} and {}", kind, to_text(a), to_text(b)));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] < 0 || a[i] >= x.rank() || b[i] < 0 || b[i] >= y.rank()) {
      shape_error(op, fmt::format("no such {} dim: {} and {} of operands of {} and {} dims", kind,
                                  a[i], b[i], x.rank(), y.rank()));
    }
    if (x.dim(a[i]) != y.dim(b[i])) {
      shape_error(op, fmt::format("{} dims differ, {} and {}", kind, describe_dim(x, "a", a[i]),
                                  describe_dim(y, "b", b[i])));
    }
  }
}

bool has_8_bits(DType d) { return is_float(d) && size_bytes(d) == 1; }

// True if products of these operands can be summed in a dtype that is not theirs.
bool can_widen(DType operand, DType result) {
  if (is_integer(operand)) {
    const bool is_wider = is_storage_only(operand) || size_bytes(result) > size_bytes(operand);
    return is_integer(result) && is_unsigned(result) == is_unsigned(operand) && is_wider;
  }
  return is_float(operand) && is_float(result);
}

DType result_dtype(const OpNode& op, const DotOptions& options) {
  const DType a = op.inputs[0].dtype(), b = op.inputs[1].dtype();
  const bool is_mixed = has_8_bits(a) && has_8_bits(b) && options.result_dtype;
  if (a != b && !is_mixed) {
    shape_error(op,
                fmt::format("operands must have one dtype, got {} and {}; convert one with astype",
                            name_of(a), name_of(b)));
  }
  const DType result = options.result_dtype.value_or(a);
  if (a == DType::kPred || (result != a && !can_widen(a, result))) {
    shape_error(
        op, fmt::format("cannot multiply {} operands to a {} result", name_of(a), name_of(result)));
  }
  const std::string wrong = mismatch(options, a, b, result);
  if (!wrong.empty()) shape_error(op, wrong);
  return result;
}

std::vector<Type> infer_dot(const OpNode& op) {
  const auto& [dims, options] =
      std::tie(op.attrs<DotAttributes>().dims, op.attrs<DotAttributes>().options);
  const Tensor &a = op.inputs[0], &b = op.inputs[1];
  const DType result = result_dtype(op, options);
  check_pairs(op, "batch", dims.a_batch, dims.b_batch);
  check_pairs(op, "contracting", dims.a_contracting, dims.b_contracting);
  const auto a_free = free_dims(a.rank(), dims.a_contracting, dims.a_batch);
  const auto b_free = free_dims(b.rank(), dims.b_contracting, dims.b_batch);
  if (a_free.size() + dims.a_contracting.size() + dims.a_batch.size() != a.shape().size() ||
      b_free.size() + dims.b_contracting.size() + dims.b_batch.size() != b.shape().size()) {
    shape_error(op, fmt::format("expected each dim at most once among batch and contracting dims, "
                                "got {} and {} of a, {} and {} of b",
                                to_text(dims.a_batch), to_text(dims.a_contracting),
                                to_text(dims.b_batch), to_text(dims.b_contracting)));
  }
  Shape shape;
  for (const int64_t d : dims.a_batch) shape.push_back(a.dim(d));
  for (const int64_t d : a_free) shape.push_back(a.dim(d));
  for (const int64_t d : b_free) shape.push_back(b.dim(d));
  return {Type{result, std::move(shape)}};
}

// Returns the product of a cotangent, rounded to integers, and integers, with the dims of `out`.
Tensor times_integers(const Tensor& ct, const Labels& ct_labels, const Tensor& integers,
                      const Labels& labels, const Labels& out, const DotOptions& options) {
  std::vector<int64_t> summed, places;
  for (size_t i = 0; i < ct_labels.size(); ++i) {
    const auto at = std::ranges::find(out, ct_labels[i]);
    if (at == out.end())
      summed.push_back(static_cast<int64_t>(i));
    else
      places.push_back(at - out.begin());
  }
  const ScaledIntegers rounded = to_integers(ct, summed);
  const Tensor y = contract(rounded.integers, ct_labels, integers, labels, out, options);
  // Dims of the scale come in the order of `out`, as broadcast_in_dim wants them.
  const Tensor scale = squeeze(rounded.scale, summed);
  std::vector<int64_t> order = axis_range(0, scale.rank());
  std::ranges::sort(order, {}, [&](int64_t i) { return places[i]; });
  std::ranges::sort(places);
  const Tensor factor = broadcast_in_dim(transpose(scale, order), y.shape(), places);
  return astype(astype(y, factor.dtype()) * factor, integers.dtype());
}

// Each gradient is a product of the cotangent and the other operand, written with labels.
Values vjp_dot(X x, Y, Ct g) {
  const auto& [dims, options] =
      std::tie(x.attrs<DotAttributes>().dims, x.attrs<DotAttributes>().options);
  Labels a_labels, b_labels, y_labels;
  for (int i = 0; i < x[0].rank(); ++i) a_labels.push_back(i);
  for (int i = 0; i < x[1].rank(); ++i) b_labels.push_back(static_cast<int>(x[0].rank()) + i);
  const auto pair = [&](const std::vector<int64_t>& of_a, const std::vector<int64_t>& of_b) {
    for (size_t i = 0; i < of_a.size(); ++i) b_labels[of_b[i]] = static_cast<int>(of_a[i]);
  };
  pair(dims.a_batch, dims.b_batch);
  pair(dims.a_contracting, dims.b_contracting);
  for (const int64_t d : dims.a_batch) y_labels.push_back(static_cast<int>(d));
  for (const int64_t d : free_dims(x[0].rank(), dims.a_contracting, dims.a_batch))
    y_labels.push_back(static_cast<int>(d));
  for (const int64_t d : free_dims(x[1].rank(), dims.b_contracting, dims.b_batch))
    y_labels.push_back(b_labels[d]);
  const auto [a, b, ct, backward] = backward_operands(x, g[0], options);
  if (options.algorithm == DotAlgorithm::kI8I8I32Backward) {
    return {times_integers(ct, y_labels, b, b_labels, a_labels, backward),
            times_integers(ct, y_labels, a, a_labels, b_labels, backward)};
  }
  return {astype(contract(ct, y_labels, b, b_labels, a_labels, backward), x[0].dtype()),
          astype(contract(a, a_labels, ct, y_labels, b_labels, backward), x[1].dtype())};
}

// Compilers do not widen products of 4-bit integers: they are multiplied as bytes.
HloValues lower_dot(const OpNode& op, HloBuilder& b, const HloValues& operands) {
  const auto& a = op.attrs<DotAttributes>();
  HloValues x = operands;
  Type type = op.outputs[0];
  if (is_storage_only(x[0].type.dtype)) {
    for (HloValue& operand : x) operand = hlo_byte_of(b, operand);
    if (is_storage_only(type.dtype)) type.dtype = x[0].type.dtype;
  }
  std::string numbers;
  const auto add = [&](std::string_view key, const std::vector<int64_t>& dims) {
    if (!dims.empty())
      numbers +=
          fmt::format("{}{} = [{}]", numbers.empty() ? "" : ", ", key, fmt::join(dims, ", "));
  };
  add("lhs_batching_dimensions", a.dims.a_batch);
  add("rhs_batching_dimensions", a.dims.b_batch);
  add("lhs_contracting_dimensions", a.dims.a_contracting);
  add("rhs_contracting_dimensions", a.dims.b_contracting);
  std::string text = fmt::format("dot_dimension_numbers = #stablehlo.dot<{}>, {}", numbers,
                                 mlir_precision_config(a.options.precision));
  const DotAlgorithm algorithm = a.options.algorithm;
  if (has_integers(algorithm)) {
    const auto to = [&](const HloValue& v, DType dtype) {
      return b.one("stablehlo.convert", {v}, {dtype, v.type.dims});
    };
    const HloValue sums =
        b.one("stablehlo.dot_general", {to(x[0], DType::kI8), to(x[1], DType::kI8)},
              {DType::kI32, op.outputs[0].dims}, text);
    return {to(sums, op.outputs[0].dtype)};
  }
  if (algorithm != DotAlgorithm::kDefault)
    text += ", algorithm = " + mlir_text(algorithm, x[0].type.dtype, x[1].type.dtype);
  const HloValue y = b.one("stablehlo.dot_general", x, type, text);
  return {type == op.outputs[0] ? y : b.one("stablehlo.convert", {y}, op.outputs[0])};
}

double dot_flops(const OpNode& op) {
  double flops = 2.0 * static_cast<double>(op.outputs[0].num_elements());
  for (const int64_t d : op.attrs<DotAttributes>().dims.a_contracting)
    flops *= static_cast<double>(op.inputs[0].dim(d));
  return flops;
}

// Of two batched operands the batch is a batch dim. Of one it is a free dim, which is then moved to
// the front.
std::vector<Batched> batch_dot(BatchX x) {
  const auto& a = x.attrs<DotAttributes>();
  const bool both = x.is_batched(0) && x.is_batched(1);
  const auto moved = [&](size_t operand, const std::vector<int64_t>& dims) {
    return x.is_batched(operand) ? shifted(dims) : dims;
  };
  const auto batch_dims = [&](size_t operand, const std::vector<int64_t>& dims) {
    return both ? prepended(0, moved(operand, dims)) : moved(operand, dims);
  };
  DotDims dims{.a_contracting = moved(0, a.dims.a_contracting),
               .b_contracting = moved(1, a.dims.b_contracting),
               .a_batch = batch_dims(0, a.dims.a_batch),
               .b_batch = batch_dims(1, a.dims.b_batch)};
  const Tensor y = emit(*x.op().rules, {x[0], x[1]}, DotAttributes(dims, a.options));
  if (both) return all_batched({y});
  const auto num_batch = std::ssize(a.dims.a_batch);
  const auto num_free_of_a = x[0].rank() - num_batch - std::ssize(a.dims.a_contracting);
  return all_batched({move_axis(y, x.is_batched(0) ? num_batch : num_batch + num_free_of_a, 0)});
}

const OpRules dot_rules({.name = "dot_general",
                         .infer = infer_dot,
                         .batch = batch_dot,
                         .vjp = vjp_dot,
                         .eval =
                             [](const EvalOptions&, const OpNode& op,
                                std::span<const HostTensor* const> x, std::span<HostTensor> y) {
                               const auto& a = op.attrs<DotAttributes>();
                               eval_dot(a.dims, *x[0], *x[1], y[0], a.options.algorithm);
                             },
                         .hlo = lower_dot,
                         .cost = dot_flops,
                         .traits = {.is_product = true}});

}  // namespace

std::string mismatch(const DotOptions& options, DType a, DType b, DType result) {
  if (options.algorithm != DotAlgorithm::kDefault && options.precision != Precision::kDefault)
    return "expected a precision or an algorithm, got both";
  return mismatch(options.algorithm, a, b, result);
}

std::string to_text(const DotOptions& options) {
  std::vector<std::string> parts;
  if (options.result_dtype)
    parts.push_back(fmt::format("result = {}", name_of(*options.result_dtype)));
  if (options.precision != Precision::kDefault)
    parts.push_back(fmt::format("precision = {}", mlir_name(options.precision)));
  if (options.algorithm != DotAlgorithm::kDefault)
    parts.push_back(fmt::format("algorithm = {}", name_of(options.algorithm)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view mlir_name(Precision precision) {
  constexpr std::string_view kNames[] = {"DEFAULT", "HIGH", "HIGHEST"};
  return kNames[static_cast<size_t>(precision)];
}
std::string mlir_precision_config(Precision precision) {
  return fmt::format("precision_config = [#stablehlo<precision {0}>, #stablehlo<precision {0}>]",
                     mlir_name(precision));
}

Tensor dot_general(const Tensor& a, const Tensor& b, const DotDims& dims,
                   const DotOptions& options) {
  return emit(dot_rules, {a, b}, DotAttributes(dims, options));
}

std::optional<DotParts> dot_parts_of(const OpNode& op) {
  if (op.rules != &dot_rules) return std::nullopt;
  const auto& a = op.attrs<DotAttributes>();
  return DotParts{a.dims, a.options};
}

Tensor dot(const Tensor& a, const Tensor& b, const DotOptions& options) {
  if (a.rank() == 0 || b.rank() == 0) {
    shape_error("dot", "expected operands of at least one dim", {a, b});
  }
  return dot_general(a, b, {.a_contracting = {a.rank() - 1}, .b_contracting = {0}}, options);
}

}  // namespace axle
