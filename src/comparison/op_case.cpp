#include "comparison/op_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/yaml.h"
#include "comparison/eval_layer_files.h"
#include "comparison/functions/attribute_value.h"
#include "runtime/mesh_devices.h"

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

// What reads the value of each key of a map.
using KeyReaders = std::map<std::string, std::function<void(const Json&)>>;

std::vector<std::string> keys_of(const KeyReaders& readers) {
  std::vector<std::string> out;
  for (const auto& [key, reader] : readers) out.push_back(key);
  return out;
}

// Reads a map of a case. Throws "<key>: ..." for a value that its reader refuses.
void read_map(const Json& map, const KeyReaders& readers) {
  check_keys(map, keys_of(readers));
  for (const auto& [key, value] : map.items()) {
    try {
      readers.at(key)(value);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", key, error.what()));
    }
  }
}

CaseTensor source_from(const Json& value) {
  if (is_literal(value) || (value.is_object() && value.contains("values")))
    return {.value = tensor_from(value)};
  if (value.is_string()) return {.name = value.get<std::string>()};
  if (!value.is_object() || !value.contains("tensor"))
    fail_value("a tensor's name, {tensor: NAME, shape: ...} or {dtype: ..., values: ...}", value);
  CaseTensor out;
  read_map(value, {{"tensor", [&](const Json& v) { out.name = text_of(v, "a tensor's name"); }},
                   {"shape", [&](const Json& v) { out.shape = tensor_shape_from(v); }},
                   {"dtype", [&](const Json& v) { out.dtype = attribute_from<DType>(v); }}});
  return out;
}

// An operand that is a list of tensors takes a list of them by its name. In order, it takes tensors
// in a row, so that a list of numbers is one of them.
OperandSource operand_from(const std::string& name, const Json& value,
                           std::optional<Parameter::Kind> kind) {
  OperandSource out{.name = name};
  const bool takes_list = kind == Parameter::Kind::kTensors && !name.empty();
  const bool is_empty_list = value.empty() && kind != Parameter::Kind::kTensor;
  out.is_list = value.is_array() && (takes_list || is_empty_list || !is_literal(value));
  if (!out.is_list) {
    out.tensors.push_back(source_from(value));
    return out;
  }
  for (const Json& element : value) out.tensors.push_back(source_from(element));
  return out;
}

std::vector<OperandSource> operands_from(const Json& value, const Formula& formula) {
  std::vector<OperandSource> out;
  if (value.is_object()) {
    for (const auto& [name, entry] : value.items()) {
      try {
        out.push_back(operand_from(name, entry, formula.operand_kind(name, 0)));
      } catch (const ConfigError& error) {
        throw ConfigError(fmt::format("{}: {}", name, error.what()));
      }
    }
  } else if (value.is_array()) {
    for (const Json& entry : value)
      out.push_back(operand_from("", entry, formula.operand_kind("", out.size())));
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

VmapOptions vmap_from(const Json& value) {
  VmapOptions out;
  if (value.is_string() && attribute_from<bool>(value)) return out;
  if (!value.is_object())
    fail_value("true or {in_axes: ..., out_axes: ..., axis_size: ..., mesh_axes: ...}", value);
  const auto axis_size = [&](const Json& v) {
    out.axis_size = attribute_from<std::optional<int64_t>>(v);
    if (out.axis_size && *out.axis_size < 0) fail_value("a size from 0", v);
  };
  read_map(value, {{"in_axes", [&](const Json& v) { out.in_axes = axes_from(v); }},
                   {"out_axes", [&](const Json& v) { out.out_axes = axes_from(v); }},
                   {"axis_size", axis_size},
                   {"mesh_axes", [&](const Json& v) { out.mesh_axes = dim_axes_from(v); }}});
  return out;
}

ShardMapOptions shard_map_from(const Json& value) {
  ShardMapOptions out;
  if (!value.is_object() || !value.contains("mesh"))
    fail_value("{mesh: \"data=2,model=4\", in_specs: [...], out_specs: [...]}", value);
  using Specs = std::vector<PartitionSpec>;
  // The size of an axis is not left open: there are as many devices as the mesh has.
  const auto mesh = [&](const Json& v) {
    out.mesh = attribute_from<Mesh>(v);
    check_device_count(to_text(out.mesh), out.mesh.num_devices());
  };
  read_map(value, {{"mesh", mesh},
                   {"in_specs", [&](const Json& v) { out.in_specs = attribute_from<Specs>(v); }},
                   {"out_specs", [&](const Json& v) { out.out_specs = attribute_from<Specs>(v); }},
                   {"axes", [&](const Json& v) { out.axes = dim_axes_from(v); }}});
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

// Returns the name in the case itself; empty if there is none.
std::string name_in(const Json& document) {
  const bool has_name = document.is_object() && document.contains("name");
  return has_name && document["name"].is_string() ? document["name"].get<std::string>() : "";
}

// Returns a location in a file with the name of a case: "cases.yaml:12: roll".
std::string with_name(const std::string& location, const std::string& name) {
  return name.empty() ? location : location + ": " + name;
}

// The location in the file of the key with this index, for messages.
using KeyLocations = std::function<std::string(size_t)>;

// Calls fn({key: value}) for the entries of a map. Messages begin with the location of the key.
void for_each_key(const Json& document, const KeyLocations& where,
                  const std::function<void(const Json&)>& fn) {
  size_t location = 0;
  for (const auto& [key, value] : document.items()) {
    const std::string at = where(location++);
    Json entry = Json::object();
    entry[key] = value;
    try {
      fn(entry);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", at, error.what()));
    }
  }
}

OpCase case_from(const Json& document, const std::string& location,
                 const KeyLocations& key_locations) {
  if (!document.is_object()) throw ConfigError(location + ": expected {function: NAME, ...}");
  const std::string name = name_in(document), where = with_name(location, name);
  const KeyLocations key_where = [&](size_t key) { return with_name(key_locations(key), name); };
  std::optional<OpCase> out;
  const auto of_formula = [](const Json&) {};
  const auto prng = [&](const Json& v) { out->prng = attribute_from<random::PrngOptions>(v); };
  const auto cotangents = [&](const Json& v) {
    if (!v.is_object()) fail_value("{OUTPUT: TENSOR}", v);
    for (const auto& [output, source] : v.items()) out->cotangents[output] = source_from(source);
  };
  const auto expected = [&](const Json& v) {
    if (v.is_string()) {
      out->expected["out0"] = v.get<std::string>();
      return;
    }
    if (!v.is_object()) fail_value("{RESULT: NAME}", v);
    for (const auto& [result, theirs] : v.items())
      out->expected[result] = text_of(theirs, "a tensor's name");
  };
  const KeyReaders readers = {
      {"name", [&](const Json& v) { out->name = text_of(v, "a text"); }},
      {"function", of_formula},
      {"attributes", of_formula},
      {"parameters", of_formula},
      {"steps", of_formula},
      {"results", of_formula},
      {"inputs", [&](const Json& v) { out->inputs = operands_from(v, out->formula); }},
      {"vjp", [&](const Json& v) { out->vjp = attribute_from<bool>(v); }},
      {"cotangents", cotangents},
      {"vmap", [&](const Json& v) { out->vmap = vmap_from(v); }},
      {"shard_map", [&](const Json& v) { out->shard_map = shard_map_from(v); }},
      {"prng", prng},
      {"tolerance", [&](const Json& v) { out->tolerance = tolerance_from(v); }},
      {"expected", expected}};
  for_each_key(document, key_where,
               [&](const Json& entry) { check_keys(entry, keys_of(readers)); });
  try {
    out = OpCase{.where = where, .formula = formula_from(document)};
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", where, error.what()));
  }
  for_each_key(document, key_where, [&](const Json& entry) { read_map(entry, readers); });
  if (!out->vjp && !out->cotangents.empty())
    throw ConfigError(where + ": cotangents: expected use with vjp: true, got no vjp");
  return *std::move(out);
}

// Adds the case, or why it is broken, to the file. `locations` are the locations of the cases in
// `file`, by name.
void add_case(const Json& document, const std::string& location, const KeyLocations& key_locations,
              std::map<std::string, std::string>& locations, OpCases& file) {
  const std::string name = name_in(document);
  try {
    OpCase one = case_from(document, location, key_locations);
    const auto [earlier, is_new] = locations.emplace(name, location);
    if (!is_new) {
      throw ConfigError(fmt::format("{}: expected a name of its own, got {} of {}",
                                    with_name(location, name),
                                    name.empty() ? "none, as the case" : "that", earlier->second));
    }
    file.cases.push_back(std::move(one));
  } catch (const ConfigError& error) {
    file.broken.push_back({name, error});
  }
}

}  // namespace

std::string OpCase::file_name(std::string_view tensor) const { return join_path(name, tensor); }

OpCases read_op_cases(const std::string& path) {
  YamlLines lines;
  const Json document = parse_yaml(read_user_file(path), path, &lines);
  const auto where = [&](const std::vector<size_t>& location) {
    const auto it = lines.find(location);
    return it == lines.end() ? path : fmt::format("{}:{}", path, it->second);
  };
  if (!document.is_object()) {
    throw ConfigError(
        fmt::format("{}: expected {{function: NAME, ...}} or {{cases: [...]}}, got {}", path,
                    document.is_null() ? "nothing" : "something else"));
  }
  OpCases out{.path = path};
  if (document.contains("inputs_file")) {
    const std::string file = text_of(document["inputs_file"], "inputs_file: PATH");
    out.inputs = (std::filesystem::path(path).parent_path() / file).string();
  }
  if (!document.contains("cases")) {
    std::vector<size_t> locations;  // of the keys of the case, among those of the document
    Json single = Json::object();
    size_t next = 0;
    for (const auto& [key, value] : document.items()) {
      if (key != "inputs_file") single[key] = value, locations.push_back(next);
      ++next;
    }
    std::map<std::string, std::string> names;
    add_case(
        single, where({0}), [&](size_t key) { return where({locations[key]}); }, names, out);
    return out;
  }
  size_t location = 0;
  for (const auto& [key, value] : document.items()) {
    if (key == "cases") {
      if (!value.is_array() || value.empty())
        throw ConfigError(where({location}) + ": cases: expected a list of cases");
      std::map<std::string, std::string> names;
      for (size_t i = 0; i < value.size(); ++i) {
        const KeyLocations keys = [&](size_t k) { return where({location, i, k}); };
        add_case(value[i], where({location, i}), keys, names, out);
      }
    } else if (key != "inputs_file") {
      throw ConfigError(
          fmt::format("{}: no such key: {} (keys: inputs_file, cases)", where({location}), key));
    }
    ++location;
  }
  return out;
}

}  // namespace axle
