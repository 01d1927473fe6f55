// Attributes of functions from data: numbers, texts of enums, lists, and structs of options.
#pragma once

#include <concepts>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "config/leaf.h"
#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "ops/products/products.h"
#include "ops/random/random.h"
#include "ops/windows/windows.h"
#include "transform/control_flow/control_flow.h"
#include "transform/remat/remat.h"
#include "transform/trace.h"

namespace axle {

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

namespace random {
constexpr auto texts_of(ThreefryMode) {
  return std::to_array<EnumText<ThreefryMode>>(
      {{ThreefryMode::kPartitionable, "partitionable"}, {ThreefryMode::kOriginal, "original"}});
}
/// Calls visit(name, field) for the fields. The file that cmake/function_table.py writes has such
/// functions, and texts_of, for the types of all parameters.
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

/// The body of fori_loop.
using CountedBody = std::function<Values(const Tensor& i, const Values& carry)>;
/// Sets `to` to a function that calls fn with its arguments in a row. The result of a condition is
/// one tensor; the body of a scan returns the next carry, then the other results.
void set_function(TensorFunction& to, TensorFunction fn);
void set_function(WhileCondition& to, TensorFunction fn);
void set_function(CountedBody& to, TensorFunction fn);
void set_function(AssociativeCombine& to, TensorFunction fn);
void set_function(ScanBody& to, TensorFunction fn);

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
template <class T>
inline constexpr bool kIsFunction = false;
template <class R, class... P>
inline constexpr bool kIsFunction<std::function<R(P...)>> = true;

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
  else if constexpr (detail::kIsFunction<T>)
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
  } else if constexpr (detail::kIsFunction<T>) {
    T out;
    set_function(out, tensor_function_from(value));
    return out;
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
    return parse_leaf<T>(text_of(value, attribute_type<T>()));
  }
}

}  // namespace axle
