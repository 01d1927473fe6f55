#include "comparison/functions/attribute_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>

#include "base/text/text.h"
#include "comparison/functions/formula.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// YAML's own spellings of truth values, infinities and NaN. None otherwise.
std::optional<Scalar> yaml_word(std::string_view text) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::count(words, text) > 0;
  };
  if (is_one_of({"true", "True", "TRUE"})) return 1;
  if (is_one_of({"false", "False", "FALSE"})) return 0;
  if (is_one_of({".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (is_one_of({".inf", ".Inf", ".INF"})) return is_negative ? -kInfinity : kInfinity;
  return std::nullopt;
}

// Appends the scalars below `value`, and checks that the lists at each depth have one size.
void flatten_values(const Json& value, size_t depth, size_t leaf_depth, Shape& shape,
                    std::vector<const Json*>& out) {
  if (depth == leaf_depth) return out.push_back(&value);
  check_list(value, "a list of numbers as long as its neighbours");
  if (shape.size() == depth) shape.push_back(std::ssize(value));
  if (shape[depth] != std::ssize(value))
    fail_value(fmt::format("a list of {} values", shape[depth]), value);
  for (const Json& element : value) flatten_values(element, depth + 1, leaf_depth, shape, out);
}

// Complex numbers have one list more than their shape if they are pairs [real, imaginary]. Values
// of a given shape may stand in its nested lists or in a single one.
bool holds_pairs(const Json& values, size_t depth, const std::optional<Shape>& given) {
  if (depth == 0 || !given) return depth > 0;
  if (depth > std::max<size_t>(given->size(), 1)) return true;
  if (depth == 1) return given->empty() && values.size() == 2;
  if (depth > 2) return false;
  const Shape of_reals = {std::ssize(values), std::ssize(values[0])};
  return of_reals != *given && of_reals[1] == 2;
}

size_t depth_of(const Json& value) {
  return value.is_array() && !value.empty() ? 1 + depth_of(value[0]) : value.is_array() ? 1 : 0;
}

Values in_a_row(Values first, const Values& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

template <class T>
T element_from(const Json& value) {
  if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    if (!value.is_array()) return T(element_from<Part>(value));
    if (value.size() != 2) fail_value("[real, imaginary]", value);
    return T(element_from<Part>(value[0]), element_from<Part>(value[1]));
  } else {
    const Scalar number = scalar_from_text(text_of(value, "a number"));
    const bool is_truth = number.as<double>() == 0 || number.as<double>() == 1;
    if (!number.fits(dtype_of<T>()) || (std::is_same_v<T, bool> && !is_truth))
      fail_value(fmt::format("a number of {}", name_of(dtype_of<T>())), value);
    return number.as<T>();
  }
}

}  // namespace

Scalar scalar_from_text(std::string_view text) {
  if (const auto word = yaml_word(text)) return *word;
  if (const auto whole = parsed<int64_t>(text)) return *whole;
  if (const auto whole = parsed<uint64_t>(text)) return *whole;
  if (const auto number = parsed<double>(text)) return *number;
  throw ConfigError(fmt::format("expected a number, got '{}'", text));
}

double double_from_text(std::string_view text) { return scalar_from_text(text).as<double>(); }

void fail_value(std::string_view what, const Json& value) {
  throw ConfigError(fmt::format("expected {}, got {}", what, value.dump()));
}

const std::string& text_of(const Json& value, std::string_view what) {
  if (!value.is_string()) fail_value(what, value);
  return value.get_ref<const std::string&>();
}

void check_keys(const Json& map, const std::vector<std::string>& keys) {
  for (const auto& [key, unused] : map.items()) {
    if (!std::ranges::count(keys, key))
      throw ConfigError(
          fmt::format("no such key: {}{} (keys: {})", key, suggest(key, keys), join(keys, ", ")));
  }
}

void check_list(const Json& value, std::string_view what) {
  if (!value.is_array()) fail_value(what, value);
}

HostTensor tensor_from(const Json& value) {
  const bool is_map = value.is_object();
  if (is_map) {
    check_keys(value, {"dtype", "shape", "values"});
    if (!value.contains("values")) throw ConfigError("expected values, got none");
  }
  const Json& values = is_map ? value["values"] : value;
  DType dtype = DType::kF32;
  if (is_map && value.contains("dtype")) dtype = attribute_from<DType>(value["dtype"]);
  std::optional<Shape> given;
  if (is_map && value.contains("shape")) given = tensor_shape_from(value["shape"]);

  size_t depth = depth_of(values);
  if (is_complex(dtype) && holds_pairs(values, depth, given)) --depth;
  Shape nested;
  std::vector<const Json*> elements;
  flatten_values(values, 0, depth, nested, elements);
  HostTensor out(Type{dtype, given.value_or(nested)});
  const auto size = static_cast<size_t>(out.size());
  if (elements.size() != size && elements.size() != 1) {
    throw ConfigError(
        fmt::format("values: expected {} or 1 for all, got {}", size, elements.size()));
  }
  dispatch_any(dtype, [&]<class T>(std::type_identity<T>) {
    for (size_t i = 0; i < size; ++i)
      out.values<T>()[i] = element_from<T>(*elements[elements.size() == 1 ? 0 : i]);
  });
  return out;
}

Shape tensor_shape_from(const Json& value) {
  const Shape out = attribute_from<Shape>(value);
  if (std::ranges::any_of(out, [](int64_t size) { return size < 0; }))
    fail_value("a shape of sizes from 0", value);
  if (!is_countable(out))
    fail_value(fmt::format("a shape of at most {} elements", kMaxElements), value);
  return out;
}

Padding padding_from(const Json& value) {
  if (value.is_string()) return attribute_from<PaddingRule>(value);
  std::vector<DimPadding> dims;
  for (const auto& [low, high] : attribute_from<std::vector<std::pair<int64_t, int64_t>>>(value))
    dims.push_back({low, high});
  return dims;
}

DimAxes dim_axes_from(const Json& value) {
  DimAxes out;
  if (value.is_null()) return out;
  if (value.is_string()) {
    out.push_back(value.get<std::string>());
    return out;
  }
  for (const std::string& axis : attribute_from<std::vector<std::string>>(value))
    out.push_back(axis);
  return out;
}

PartitionSpec partition_spec_from(const Json& value) {
  check_list(value, "a list of the mesh axes of each dim");
  PartitionSpec out;
  for (const Json& dim : value) out.dims.push_back(dim_axes_from(dim));
  return out;
}

RematPolicy remat_policy_from(const Json& value) {
  if (value.is_string()) {
    const std::string& name = value.get_ref<const std::string&>();
    if (name == "save_nothing") return save_nothing();
    if (name == "save_everything") return save_everything();
    if (name == "save_dots") return save_dots();
    if (name == "offload_dots") return offload_dots();
  }
  if (!value.is_object() || value.size() != 1) fail_value(kRematPolicyTexts, value);
  check_keys(value, {"save_names", "save_matching", "combine"});
  if (value.contains("combine")) {
    check_list(value["combine"], "a list of policies");
    std::vector<RematPolicy> policies;
    for (const Json& policy : value["combine"]) policies.push_back(remat_policy_from(policy));
    return combine(std::move(policies));
  }
  const bool by_name = value.contains("save_names");
  const char* const kept = by_name ? "names" : "patterns";
  const Json& lists = *value.begin();
  if (!lists.is_object()) fail_value(fmt::format("{{{}: [...], offload: [...]}}", kept), lists);
  check_keys(lists, {kept, "offload"});
  const auto texts = [&](const char* key) {
    return lists.contains(key) ? attribute_from<std::vector<std::string>>(lists[key])
                               : std::vector<std::string>();
  };
  return by_name ? save_names(texts(kept), texts("offload"))
                 : save_matching(texts(kept), texts("offload"));
}

TensorFunction tensor_function_from(const Json& value) {
  return [formula = Formula(value)](const Values& arguments) {
    std::vector<GivenOperand> given;
    for (const Tensor& x : arguments) given.push_back({.values = {x}});
    return formula(given);
  };
}

void set_function(TensorFunction& to, TensorFunction fn) { to = std::move(fn); }

void set_function(WhileCondition& to, TensorFunction fn) {
  to = [fn = std::move(fn)](const Values& carry) {
    const Values results = fn(carry);
    if (results.size() != 1) throw ConfigError("expected one result");
    return results[0];
  };
}

void set_function(CountedBody& to, TensorFunction fn) {
  to = [fn = std::move(fn)](const Tensor& i, const Values& carry) {
    return fn(in_a_row({i}, carry));
  };
}

void set_function(AssociativeCombine& to, TensorFunction fn) {
  to = [fn = std::move(fn)](const Values& earlier, const Values& later) {
    return fn(in_a_row(earlier, later));
  };
}

void set_function(ScanBody& to, TensorFunction fn) {
  to = [fn = std::move(fn)](const Values& carry, const Values& xs) {
    const Values results = fn(in_a_row(carry, xs));
    if (results.size() < carry.size())
      throw ConfigError("expected the next carry among its results, got fewer tensors");
    const auto end_of_carry = results.begin() + std::ssize(carry);
    return ScanResult{{results.begin(), end_of_carry}, {end_of_carry, results.end()}};
  };
}

}  // namespace axle
