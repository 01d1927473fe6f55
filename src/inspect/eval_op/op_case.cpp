#include "inspect/eval_op/op_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/document/yaml.h"
#include "functions/attribute_value.h"
#include "inspect/eval_layer/eval_layer_files.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

bool is_number(const Json& value) {
  if (!value.is_string()) return false;
  try {
    scalar_from_text(value.get_ref<const std::string&>());
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}
// True for a number and for nested lists of numbers.
bool is_literal(const Json& value) {
  return value.is_array() ? std::ranges::all_of(value, is_literal) : is_number(value);
}

TensorSource source_from(const Json& value) {
  if (is_literal(value) || (value.is_object() && value.contains("values")))
    return {.value = tensor_from(value)};
  if (value.is_string()) return {.name = value.get<std::string>()};
  if (!value.is_object() || !value.contains("tensor"))
    fail_value("a tensor's name, {tensor: NAME, shape: ...} or {dtype: ..., values: ...}", value);
  TensorSource out{.name = text_of(value["tensor"], "a tensor's name")};
  for (const auto& [key, entry] : value.items()) {
    if (key == "shape") {
      out.shape = attribute_from<Shape>(entry);
    } else if (key == "dtype") {
      out.dtype = attribute_from<DType>(entry);
    } else if (key != "tensor") {
      throw ConfigError(fmt::format("no such key: {} (keys: tensor, shape, dtype)", key));
    }
  }
  return out;
}

OperandSource operand_from(const std::string& name, const Json& value) {
  OperandSource out{.name = name};
  if (value.is_array() && (value.empty() || !is_literal(value))) {
    out.is_list = true;
    for (const Json& element : value) out.tensors.push_back(source_from(element));
  } else {
    out.tensors.push_back(source_from(value));
  }
  return out;
}

std::vector<OperandSource> operands_from(const Json& value) {
  std::vector<OperandSource> out;
  if (value.is_object()) {
    for (const auto& [name, entry] : value.items()) {
      try {
        out.push_back(operand_from(name, entry));
      } catch (const ConfigError& error) {
        throw ConfigError(fmt::format("{}: {}", name, error.what()));
      }
    }
  } else if (value.is_array()) {
    for (const Json& entry : value) out.push_back(operand_from("", entry));
  } else {
    fail_value("a map or a list of operands", value);
  }
  return out;
}

std::vector<std::optional<int64_t>> axes_from(const Json& value) {
  using Axes = std::vector<std::optional<int64_t>>;
  if (value.is_array()) return attribute_from<Axes>(value);
  return {attribute_from<std::optional<int64_t>>(value)};
}

// Calls read(value) for each key; `keys` are those that exist.
using KeyReaders = std::map<std::string, std::function<void(const Json&)>>;
void read_keys(const Json& document, const KeyReaders& readers,
               const std::function<std::string(size_t)>& where) {
  std::vector<std::string> known;
  for (const auto& [key, reader] : readers) known.push_back(key);
  size_t place = 0;
  for (const auto& [key, value] : document.items()) {
    const std::string at = where(place++);
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      throw ConfigError(fmt::format("{}: no such key: {}{} (keys: {})", at, key,
                                    suggest(key, known), join(known, ", ")));
    }
    try {
      reader->second(value);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}: {}", at, key, error.what()));
    }
  }
}

VmapOptions vmap_from(const Json& value) {
  VmapOptions out;
  if (value.is_string() && attribute_from<bool>(value)) return out;
  if (!value.is_object())
    fail_value("true or {in_axes: ..., out_axes: ..., axis_size: ...}", value);
  for (const auto& [key, entry] : value.items()) {
    if (key == "in_axes") {
      out.in_axes = axes_from(entry);
    } else if (key == "out_axes") {
      out.out_axes = axes_from(entry);
    } else if (key == "axis_size") {
      out.axis_size = attribute_from<std::optional<int64_t>>(entry);
    } else {
      throw ConfigError(fmt::format("no such key: {} (keys: in_axes, out_axes, axis_size)", key));
    }
  }
  return out;
}

ShardMapOptions shard_map_from(const Json& value) {
  ShardMapOptions out;
  if (!value.is_object() || !value.contains("mesh"))
    fail_value("{mesh: \"data=2,model=4\", in_specs: [...], out_specs: [...]}", value);
  for (const auto& [key, entry] : value.items()) {
    if (key == "mesh") {
      out.mesh = attribute_from<Mesh>(entry);
    } else if (key == "in_specs") {
      out.in_specs = attribute_from<std::vector<PartitionSpec>>(entry);
    } else if (key == "out_specs") {
      out.out_specs = attribute_from<std::vector<PartitionSpec>>(entry);
    } else if (key == "axes") {
      out.axes = dim_axes_from(entry);
    } else {
      throw ConfigError(
          fmt::format("no such key: {} (keys: mesh, in_specs, out_specs, axes)", key));
    }
  }
  return out;
}

// Reads "1e-5", "bitwise", or {rtol: 1e-5, ulp: 4}.
ElementTolerance tolerance_from(const Json& value) {
  if (value.is_string()) return element_tolerance_from(value.get_ref<const std::string&>());
  if (!value.is_object()) fail_value("a number, bitwise, or a map of limits", value);
  std::vector<std::string> limits;
  for (const auto& [name, limit] : value.items())
    limits.push_back(name + "=" + text_of(limit, "a number"));
  return element_tolerance_from(join(limits, ","));
}

// Returns the formula of a case: its function and attributes, or its steps.
Formula formula_from(const Json& document) {
  const bool has_steps = document.contains("steps");
  if (has_steps == document.contains("function"))
    throw ConfigError("expected either function: NAME or steps: {...}");
  Json out = Json::object();
  for (const char* key : {"function", "attributes", "parameters", "steps", "results"}) {
    if (document.contains(key)) out[key] = document[key];
  }
  return Formula(out);
}

OpCase case_from(const Json& document, const std::string& where,
                 const std::function<std::string(size_t)>& key_where) {
  if (!document.is_object()) throw ConfigError(where + ": expected {function: NAME, ...}");
  const auto formula = [&] {
    try {
      return formula_from(document);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", where, error.what()));
    }
  };
  OpCase out{.where = where, .formula = formula()};
  const auto of_formula = [](const Json&) {};
  const auto prng = [&](const Json& v) { out.prng = attribute_from<random::PrngOptions>(v); };
  const auto cotangents = [&](const Json& v) {
    if (!v.is_object()) fail_value("{OUTPUT: TENSOR}", v);
    for (const auto& [output, source] : v.items()) out.cotangents[output] = source_from(source);
  };
  const auto expected = [&](const Json& v) {
    if (v.is_string()) {
      out.expected["out0"] = v.get<std::string>();
      return;
    }
    if (!v.is_object()) fail_value("{RESULT: NAME}", v);
    for (const auto& [result, name] : v.items())
      out.expected[result] = text_of(name, "a tensor's name");
  };
  read_keys(document,
            {{"name", [&](const Json& v) { out.name = text_of(v, "a text"); }},
             {"function", of_formula},
             {"attributes", of_formula},
             {"parameters", of_formula},
             {"steps", of_formula},
             {"results", of_formula},
             {"inputs", [&](const Json& v) { out.inputs = operands_from(v); }},
             {"vjp", [&](const Json& v) { out.vjp = attribute_from<bool>(v); }},
             {"cotangents", cotangents},
             {"vmap", [&](const Json& v) { out.vmap = vmap_from(v); }},
             {"shard_map", [&](const Json& v) { out.shard_map = shard_map_from(v); }},
             {"prng", prng},
             {"tolerance", [&](const Json& v) { out.tolerance = tolerance_from(v); }},
             {"expected", expected}},
            key_where);
  return out;
}

}  // namespace

std::string OpCase::file_name(std::string_view tensor) const { return join_path(name, tensor); }

OpCases read_op_cases(const std::string& path) {
  YamlLines lines;
  const Json document = parse_yaml(read_user_file(path), path, &lines);
  const auto where = [&](const std::vector<size_t>& place) {
    const auto it = lines.find(place);
    return it == lines.end() ? path : fmt::format("{}:{}", path, it->second);
  };
  if (!document.is_object())
    throw ConfigError(path + ": expected {function: NAME, ...} or {cases: [...]}");
  OpCases out;
  if (document.contains("inputs_file")) {
    const std::string file = text_of(document["inputs_file"], "inputs_file: PATH");
    out.inputs = (std::filesystem::path(path).parent_path() / file).string();
  }
  if (!document.contains("cases")) {
    std::vector<size_t> places;  // of the keys of the case, among those of the document
    Json single = Json::object();
    size_t next = 0;
    for (const auto& [key, value] : document.items()) {
      if (key != "inputs_file") single[key] = value, places.push_back(next);
      ++next;
    }
    out.cases.push_back(
        case_from(single, where({0}), [&](size_t key) { return where({places[key]}); }));
    return out;
  }
  size_t place = 0;
  for (const auto& [key, value] : document.items()) {
    if (key == "cases") {
      if (!value.is_array() || value.empty())
        throw ConfigError(where({place}) + ": cases: expected a list of cases");
      for (size_t i = 0; i < value.size(); ++i) {
        out.cases.push_back(case_from(value[i], where({place, i}), [&](size_t k) {
          return where({place, i, k});
        }));
      }
    } else if (key != "inputs_file") {
      throw ConfigError(
          fmt::format("{}: no such key: {} (keys: inputs_file, cases)", where({place}), key));
    }
    ++place;
  }
  return out;
}

}  // namespace axle
