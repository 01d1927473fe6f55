// Attributes of functions from data: numbers, texts of enums, lists, and structs of options.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "config/codec.h"
#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/movement/gather.h"
#include "ops/movement/index.h"
#include "ops/movement/scatter.h"
#include "ops/movement/shape.h"
#include "ops/movement/sort.h"
#include "ops/products/convolution.h"
#include "ops/products/dot.h"
#include "ops/random/key.h"
#include "ops/random/random.h"
#include "ops/reductions/cumulative.h"
#include "ops/windows/reduce_window.h"
#include "ops/windows/select_and_scatter.h"
#include "ops/windows/window.h"
#include "transform/control_flow/maps.h"
#include "transform/control_flow/scan.h"
#include "transform/kernel/kernel_call.h"
#include "transform/linalg/linalg.h"
#include "transform/remat/remat.h"
#include "transform/trace.h"
#include "transform/vmap.h"

namespace axle {

constexpr auto texts_of(StopValue) {
  return std::to_array<EnumText<StopValue>>(
      {{StopValue::kInclusive, "inclusive"}, {StopValue::kExclusive, "exclusive"}});
}
constexpr auto texts_of(Memory) {
  return std::to_array<EnumText<Memory>>({{Memory::kDevice, "device"}, {Memory::kHost, "host"}});
}
constexpr auto texts_of(GridOrder) {
  return std::to_array<EnumText<GridOrder>>(
      {{GridOrder::kCartesian, "cartesian"}, {GridOrder::kMatrix, "matrix"}});
}
constexpr auto texts_of(GatherMode) {
  return std::to_array<EnumText<GatherMode>>({{GatherMode::kClip, "clip"},
                                              {GatherMode::kFill, "fill"},
                                              {GatherMode::kPromiseInBounds, "promise_in_bounds"}});
}
constexpr auto texts_of(ScatterMode) {
  return std::to_array<EnumText<ScatterMode>>(
      {{ScatterMode::kDrop, "drop"},
       {ScatterMode::kClip, "clip"},
       {ScatterMode::kPromiseInBounds, "promise_in_bounds"}});
}
constexpr auto texts_of(SearchSide) {
  return std::to_array<EnumText<SearchSide>>(
      {{SearchSide::kLeft, "left"}, {SearchSide::kRight, "right"}});
}
constexpr auto texts_of(SortOrder) {
  return std::to_array<EnumText<SortOrder>>(
      {{SortOrder::kAscending, "ascending"}, {SortOrder::kDescending, "descending"}});
}
constexpr auto texts_of(Precision) {
  return std::to_array<EnumText<Precision>>({{Precision::kDefault, "default"},
                                             {Precision::kHigh, "high"},
                                             {Precision::kHighest, "highest"}});
}
/// "default", and JAX's names.
inline std::vector<EnumText<DotAlgorithm>> texts_of(DotAlgorithm) {
  std::vector<EnumText<DotAlgorithm>> out = {{DotAlgorithm::kDefault, "default"}};
  for (auto a = static_cast<int>(DotAlgorithm::kDefault) + 1;
       a <= static_cast<int>(DotAlgorithm::kI8I8I32Backward); ++a)
    out.push_back({static_cast<DotAlgorithm>(a), name_of(static_cast<DotAlgorithm>(a))});
  return out;
}
constexpr auto texts_of(PaddingRule) {
  return std::to_array<EnumText<PaddingRule>>(
      {{PaddingRule::kValid, "valid"}, {PaddingRule::kSame, "same"}});
}
constexpr auto texts_of(PoolCount) {
  return std::to_array<EnumText<PoolCount>>(
      {{PoolCount::kWindow, "window"}, {PoolCount::kWithoutPadding, "without_padding"}});
}
constexpr auto texts_of(WindowSelect) {
  return std::to_array<EnumText<WindowSelect>>(
      {{WindowSelect::kLargest, "largest"}, {WindowSelect::kLeast, "least"}});
}
constexpr auto texts_of(QuantileMethod) {
  return std::to_array<EnumText<QuantileMethod>>({{QuantileMethod::kLinear, "linear"},
                                                  {QuantileMethod::kLower, "lower"},
                                                  {QuantileMethod::kHigher, "higher"},
                                                  {QuantileMethod::kMidpoint, "midpoint"},
                                                  {QuantileMethod::kNearest, "nearest"},
                                                  {QuantileMethod::kInvertedCdf, "inverted_cdf"}});
}
constexpr auto texts_of(MatrixNorm) {
  return std::to_array<EnumText<MatrixNorm>>({{MatrixNorm::kFrobenius, "frobenius"},
                                              {MatrixNorm::kOne, "one"},
                                              {MatrixNorm::kInfinity, "infinity"},
                                              {MatrixNorm::kTwo, "two"}});
}

namespace random {
constexpr auto texts_of(ThreefryMode) {
  return std::to_array<EnumText<ThreefryMode>>(
      {{ThreefryMode::kPartitionable, "partitionable"}, {ThreefryMode::kOriginal, "original"}});
}
constexpr auto texts_of(Replacement) {
  return std::to_array<EnumText<Replacement>>(
      {{Replacement::kWith, "with"}, {Replacement::kWithout, "without"}});
}
}  // namespace random

/// Each function calls visit(name, field) for the fields of a struct.
template <class F>
void visit_fields(GatherOptions& o, F visit) {
  visit("mode", o.mode);
  visit("fill", o.fill);
  visit("indices_are_sorted", o.indices_are_sorted);
  visit("unique_indices", o.unique_indices);
}
template <class F>
void visit_fields(ScatterOptions& o, F visit) {
  visit("mode", o.mode);
  visit("indices_are_sorted", o.indices_are_sorted);
  visit("unique_indices", o.unique_indices);
}
template <class F>
void visit_fields(ApproxMaxKOptions& o, F visit) {
  visit("recall_target", o.recall_target);
  visit("reduction_input_size_override", o.reduction_input_size_override);
  visit("aggregate_to_topk", o.aggregate_to_topk);
}
template <class F>
void visit_fields(GatherDims& o, F visit) {
  visit("offset", o.offset);
  visit("collapsed", o.collapsed);
  visit("operand_batch", o.operand_batch);
  visit("indices_batch", o.indices_batch);
  visit("index_map", o.index_map);
  visit("index_vector_dim", o.index_vector_dim);
}
template <class F>
void visit_fields(DotOptions& o, F visit) {
  visit("result_dtype", o.result_dtype);
  visit("precision", o.precision);
  visit("algorithm", o.algorithm);
}
template <class F>
void visit_fields(DotDims& o, F visit) {
  visit("a_contracting", o.a_contracting);
  visit("b_contracting", o.b_contracting);
  visit("a_batch", o.a_batch);
  visit("b_batch", o.b_batch);
}
template <class F>
void visit_fields(ConvolutionDims& o, F visit) {
  visit("x", o.x);
  visit("kernel", o.kernel);
  visit("y", o.y);
}
template <class F>
void visit_fields(ConvolutionOptions& o, F visit) {
  visit("strides", o.strides);
  visit("padding", o.padding);
  visit("input_dilation", o.input_dilation);
  visit("kernel_dilation", o.kernel_dilation);
  visit("dims", o.dims);
  visit("feature_groups", o.feature_groups);
  visit("batch_groups", o.batch_groups);
  visit("result_dtype", o.result_dtype);
  visit("precision", o.precision);
}
template <class F>
void visit_fields(PoolOptions& o, F visit) {
  visit("window", o.window);
  visit("strides", o.strides);
  visit("padding", o.padding);
}
template <class F>
void visit_fields(Window& o, F visit) {
  visit("sizes", o.sizes);
  visit("strides", o.strides);
  visit("padding", o.padding);
  visit("base_dilations", o.base_dilations);
  visit("window_dilations", o.window_dilations);
}
template <class F>
void visit_fields(TriangularSolveOptions& o, F visit) {
  visit("lower", o.lower);
  visit("transpose", o.transpose);
  visit("unit_diagonal", o.unit_diagonal);
  visit("left_side", o.left_side);
}
template <class F>
void visit_fields(ScanOptions& o, F visit) {
  visit("reverse", o.reverse);
  visit("unroll", o.unroll);
}
template <class F>
void visit_fields(SequentialMapOptions& o, F visit) {
  visit("batch_size", o.batch_size);
}
template <class F>
void visit_fields(VmapOptions& o, F visit) {
  visit("in_axes", o.in_axes);
  visit("out_axes", o.out_axes);
  visit("axis_size", o.axis_size);
  visit("mesh_axes", o.mesh_axes);
}
template <class F>
void visit_fields(KernelOptions& o, F visit) {
  visit("specs", o.specs);
}
namespace random {
template <class F>
void visit_fields(PrngOptions& o, F visit) {
  visit("threefry", o.threefry);
  visit("wide_keys", o.wide_keys);
}
}  // namespace random

namespace detail {
struct IgnoreField {
  void operator()(std::string_view, auto&) const {}
};
}  // namespace detail
template <class T>
concept HasOptionFields = requires(T options) {
  visit_fields(options, detail::IgnoreField{});
};

/// Reads a number with all its digits: "3", "-0.5", "1e-3", "inf", "-inf", "nan", "true", and
/// YAML's ".inf", "-.inf" and ".nan". Throws ConfigError.
Scalar scalar_from_text(std::string_view text);
/// The same as a double.
double double_from_text(std::string_view text);
/// Reads a tensor {dtype: f32, shape: [2, 2], values: [1, 2, 3, 4]}. The values may be nested
/// lists, which then determine the shape, or one list in row-major order beside a shape. A complex
/// number is a list [real, imaginary] or a real number. Without a dtype it is f32. Throws
/// ConfigError.
HostTensor tensor_from(const nlohmann::ordered_json& value);
/// Reads the shape of a tensor that exists. Throws ConfigError for sizes below 0 and for more
/// elements than any tensor has.
Shape tensor_shape_from(const nlohmann::ordered_json& value);

/// Throws ConfigError "expected <what>, got <value>".
[[noreturn]] void fail_value(std::string_view what, const nlohmann::ordered_json& value);
/// Returns the text of a scalar of a document. Throws ConfigError if the value is not a scalar.
const std::string& text_of(const nlohmann::ordered_json& value, std::string_view what);
/// Throws ConfigError for a key of a map that is none of `keys`.
void check_keys(const nlohmann::ordered_json& map, const std::vector<std::string>& keys);
/// Throws ConfigError unless the value is a list.
void check_list(const nlohmann::ordered_json& value, std::string_view what);

Padding padding_from(const nlohmann::ordered_json& value);
DimAxes dim_axes_from(const nlohmann::ordered_json& value);
PartitionSpec partition_spec_from(const nlohmann::ordered_json& value);
/// Reads "save_dots" and the like, {save_names: {names: [a], offload: [b]}}, {save_matching:
/// {patterns: [..], offload: [..]}} or {combine: [policy, ..]}.
RematPolicy remat_policy_from(const nlohmann::ordered_json& value);
/// Reads a function of the table by its name, or steps (formula.h).
TensorFunction tensor_function_from(const nlohmann::ordered_json& value);

namespace detail {
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;

/// Arguments of std::string_view are kept as strings during the call.
template <class T>
struct StorageOf {
  using type = T;
};
template <>
struct StorageOf<std::string_view> {
  using type = std::string;
};
}  // namespace detail
template <class T>
using ArgumentStorage = typename detail::StorageOf<T>::type;

/// The forms of a remat policy.
inline constexpr std::string_view kRematPolicyTexts =
    "save_nothing|save_everything|save_dots|offload_dots|{save_names: {names, offload}}|"
    "{save_matching: {patterns, offload}}|{combine: [policy]}";

/// Returns how messages and lists of functions call the type.
template <class T>
std::string attribute_type() {
  if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_same_v<T, DType>)
    return "dtype";
  else if constexpr (std::is_integral_v<T>)
    return "int";
  else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Scalar>)
    return "number";
  else if constexpr (std::is_convertible_v<T, std::string_view>)
    return "text";
  else if constexpr (std::is_same_v<T, HostTensor>)
    return "tensor";
  else if constexpr (std::is_same_v<T, TensorFunction>)
    return "function";
  else if constexpr (std::is_same_v<T, Padding>)
    return "valid|same|[[low, high]]";
  else if constexpr (std::is_same_v<T, DimAxes>)
    return "axes";
  else if constexpr (std::is_same_v<T, PartitionSpec>)
    return "[axes]";
  else if constexpr (std::is_same_v<T, RematPolicy>)
    return std::string(kRematPolicyTexts);
  else if constexpr (detail::kIsOptional<T>)
    return attribute_type<typename T::value_type>() + "|none";
  else if constexpr (detail::kIsList<T>)
    return "[" + attribute_type<typename T::value_type>() + "]";
  else if constexpr (detail::kIsPair<T>)
    return "[" + attribute_type<typename T::first_type>() + ", " +
           attribute_type<typename T::second_type>() + "]";
  else if constexpr (HasOptionFields<T>)
    return "map";
  else if constexpr (!EnumWithTexts<T>) {
    static_assert(detail::HasText<T>, "an attribute needs a reader here, or texts");
    return "text";
  } else {
    std::string out;
    for (const auto& row : texts_of(T{})) out += (out.empty() ? "" : "|") + std::string(row.text);
    return out;
  }
}

/// Reads a value. Throws ConfigError "expected ..., got ...".
template <class T>
T attribute_from(const nlohmann::ordered_json& value) {
  if constexpr (std::is_same_v<T, Scalar>) {
    return scalar_from_text(text_of(value, "a number"));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(double_from_text(text_of(value, "a number")));
  } else if constexpr (std::is_same_v<T, HostTensor>) {
    return tensor_from(value);
  } else if constexpr (std::is_same_v<T, TensorFunction>) {
    return tensor_function_from(value);
  } else if constexpr (std::is_same_v<T, Padding>) {
    return padding_from(value);
  } else if constexpr (std::is_same_v<T, DimAxes>) {
    return dim_axes_from(value);
  } else if constexpr (std::is_same_v<T, PartitionSpec>) {
    return partition_spec_from(value);
  } else if constexpr (std::is_same_v<T, RematPolicy>) {
    return remat_policy_from(value);
  } else if constexpr (detail::kIsOptional<T>) {
    if (value.is_null()) return std::nullopt;
    return attribute_from<typename T::value_type>(value);
  } else if constexpr (detail::kIsList<T>) {
    check_list(value, attribute_type<T>());
    T out;
    for (const auto& element : value)
      out.push_back(attribute_from<typename T::value_type>(element));
    return out;
  } else if constexpr (detail::kIsPair<T>) {
    check_list(value, attribute_type<T>());
    if (value.size() != 2) fail_value(attribute_type<T>(), value);
    return {attribute_from<typename T::first_type>(value[0]),
            attribute_from<typename T::second_type>(value[1])};
  } else if constexpr (HasOptionFields<T>) {
    if (!value.is_object()) fail_value("a map", value);
    T out{};
    std::vector<std::string> names;
    visit_fields(out, [&](std::string_view name, auto& field) {
      names.emplace_back(name);
      const auto it = value.find(name);
      if (it != value.end()) field = attribute_from<std::decay_t<decltype(field)>>(*it);
    });
    check_keys(value, names);
    return out;
  } else {
    return Codec<T>::parse(text_of(value, attribute_type<T>()));
  }
}

}  // namespace axle
