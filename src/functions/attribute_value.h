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
#include "config/document/codec.h"
#include "functions/enum_texts.h"
#include "functions/option_fields.h"
#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "ir/scalar.h"
#include "ops/windows/window.h"
#include "transform/remat/remat_policy.h"
#include "transform/trace.h"

namespace axle {

/// Reads a number with all its digits: "3", "-0.5", "1e-3", "inf", "-inf", "nan", "true", and
/// YAML's ".inf", "-.inf" and ".nan". Throws ConfigError.
Scalar scalar_from_text(std::string_view text);
/// The same as a double.
double double_from_text(std::string_view text);
/// Reads a tensor {dtype: f32, shape: [2, 2], values: [1, 2, 3, 4]}. The values may be nested
/// lists, which then give the shape, or one list in row-major order beside a shape. A complex
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
