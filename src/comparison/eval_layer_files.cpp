#include "comparison/eval_layer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/lists.h"
#include "base/text/text.h"
#include "base/text/yaml.h"
#include "base/tree.h"
#include "config/missing.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "io/file.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// Returns the keys of slot options with their sign: "@init".
std::vector<std::string> option_keys() {
  std::vector<std::string> out;
  for (const Field& field : LayerOptions::config_type().fields)
    out.push_back("@" + std::string(field.name));
  return out;
}

void check_file_keys(const Json& document, const std::string& source) {
  std::vector<std::string> keys = {"class", "config", "dims"};
  if (!document.is_object())
    throw ConfigError(source + ": expected {class: Name, config: {...}, dims: {...}}");
  for (const std::string& option : option_keys()) keys.push_back(option);
  for (const auto& [key, unused] : document.items()) {
    if (!std::ranges::count(keys, key)) {
      throw ConfigError(fmt::format("{}: no such key: {}{} (keys: {})", source, key,
                                    suggest(key, keys), join(keys, ", ")));
    }
  }
}

LayerOptions read_options(const Json& document) {
  LayerOptions out;
  for (const Slot& slot : children_of(out)) {
    const std::string key = "@" + slot.name;
    if (document.contains(key)) from_json(ConfigRef(slot), document[key], key);
  }
  return out;
}

void check_is_layer(const ConfigType& type) {
  if (type.role && type.role->dims && derives_from(*type.role->type, typeid(Layer))) return;
  throw ConfigError(fmt::format("class: expected a layer, got {}", type.name));
}

AnyConfig read_dims(const ConfigType& type, const Json& given) {
  AnyConfig dims = AnyConfig::with_defaults(type);
  from_json(dims, given, "dims");
  // Sizes have no defaults: a missing one would be 0.
  std::vector<std::string> left_out;
  for (const Field& field : type.fields) {
    const bool is_size =
        field.ops->kind == FieldKind::kLeaf && field.ops->leaf == LeafKind::kInteger;
    if (is_size && !given.contains(field.name))
      left_out.push_back("dims." + std::string(field.name));
  }
  if (!left_out.empty()) throw ConfigError("REQUIRED but not set: " + join(left_out, ", "));
  return dims;
}

}  // namespace

LayerFile read_layer_file(const Json& document, const std::string& source) {
  check_file_keys(document, source);
  try {
    AnyConfig config = config_from_json(document, "config");
    check_is_layer(config.type());
    const bool has_dims = document.contains("dims") && !document["dims"].is_null();
    AnyConfig dims =
        read_dims(config.type().role->dims(), has_dims ? document["dims"] : Json::object());
    check_complete(config, "config");
    return {std::move(config), std::move(dims), read_options(document)};
  } catch (const ConfigError& error) {
    throw ConfigError(source + ": " + error.what());
  }
}

std::unique_ptr<Layer> build_layer(const LayerFile& file) {
  // Layer is the only base class of a role, so both begin at the same address.
  const Scope scope{.options = &file.options, .dims = file.dims.get()};
  void* role = file.config.type().build(file.config.get(), file.dims.get(), scope);
  return std::unique_ptr<Layer>(static_cast<Layer*>(role));
}

HostTensor as_scalar_like(HostTensor value, const Shape& shape) {
  const bool is_scalar = value.size() == 1 && value.shape().size() <= 1;
  return is_scalar && num_elements(shape) == 1 && shape.size() <= 1 ? value.reshaped(shape) : value;
}

Tree<HostTensor> check_given(const Tree<Type>& expected, Tree<HostTensor> given,
                             std::string_view prefix, std::string_view what) {
  std::vector<std::string> faults, names;
  bool is_missing = false;
  for (const auto& [name, type] : expected) {
    names.push_back(name);
    const auto it = given.find(name);
    if (it == given.end()) {
      faults.push_back(fmt::format("{}/{}: expected {}, got none", prefix, name, to_text(type)));
      is_missing = true;
      continue;
    }
    it->second = as_scalar_like(std::move(it->second), type.dims);
    const Type& got = it->second.type();
    if (got.dims != type.dims) {
      faults.push_back(fmt::format("{}/{}: expected {}, got {}", prefix, name, to_text(type.dims),
                                   to_text(got.dims)));
    } else if (is_float(got.dtype) != is_float(type.dtype)) {
      faults.push_back(
          fmt::format("{}/{}: expected {}, got {}", prefix, name, to_text(type), to_text(got)));
    }
  }
  for (const auto& [name, value] : given) {
    if (!expected.contains(name))
      faults.push_back(fmt::format("{}/{}: not {}{}", prefix, name, what, suggest(name, names)));
  }
  if (is_missing) throw DataError(join(faults, "; "));
  if (!faults.empty()) throw ConfigError(join(faults, "; "));
  return given;
}

void cast_floats(Tree<HostTensor>& tensors, DType dtype) {
  for (auto& [name, value] : tensors) {
    if (is_float(value.dtype())) value = value.astype(dtype);
  }
}

void check_ids(const std::string& name, const HostTensor& ids, int64_t vocab_size,
               NegativeIds negative) {
  if (!is_integer(ids.dtype())) return;  // the layer itself refuses other dtypes
  const bool ignores = negative == NegativeIds::kIgnored;
  for (int64_t i = 0; i < ids.size(); ++i) {
    const double id = ids.at(i);
    if ((ignores || id >= 0) && id < static_cast<double>(vocab_size)) continue;
    throw ConfigError(fmt::format("{}: expected {} {}, got {} at element {}", name,
                                  ignores ? "labels up to" : "ids from 0 to", vocab_size - 1, id,
                                  i));
  }
}

void check_tensor_memory(const std::string& what, const Tree<Type>& types) {
  HostNeed need{.what = what};
  for (const auto& [name, type] : types)
    need.bytes = saturating_sum(need.bytes, static_cast<int64_t>(type.num_bytes()));
  check_host_memory(std::span(&need, 1), host_memory());
}

std::optional<Tree<HostTensor>> start_weights(const std::optional<Tree<HostTensor>>& params,
                                              const Tree<HostTensor>& inputs) {
  Tree<HostTensor> given = subtree(inputs, "init");
  if (given.empty()) return params;
  if (params && *params != given)
    throw ConfigError(
        "init/: expected the weights in --inputs or in --params, got both, and they differ");
  return given;
}

void fail_unread(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  if (names.empty()) return;
  const bool is_known = std::ranges::count(known, names[0]) > 0;
  const std::string nearest = is_known ? "" : suggest(names[0], known);
  throw ConfigError(fmt::format("{}: nothing in this call reads {}{}", join(names, ", "),
                                names.size() == 1 ? "it" : "them",
                                nearest.empty() ? "; leave out what has no effect" : nearest));
}

namespace {

template <class E>
void check_is_file(const std::string& path, std::string_view expected) {
  if (path_exists(path) && !directory_exists(path)) return;
  throw E(fmt::format("{}: expected {}, got {}", path, expected,
                      path_exists(path) ? "a folder" : nothing_at(path)));
}

std::string section_of(const std::string& name) { return name.substr(0, name.find('/')); }

[[noreturn]] void fail_section(const std::string& path, const std::string& name,
                               const InputSections& sections) {
  std::vector<std::string> prefixes;
  for (const std::string& section : sections.read) prefixes.push_back(section + "/");
  const std::string section = name.substr(0, name.find('/') + 1);
  const std::string nearest = suggest(section, prefixes);
  throw ConfigError(fmt::format(
      "{}: {}: expected a name below {}, got one that nothing reads{}", path, name,
      join(prefixes, ", "),
      nearest.empty() ? fmt::format("; '{} -> none' in --rename leaves it out", name) : nearest));
}

bool is_one_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return !b.empty() && std::filesystem::equivalent(a, b, error);
}

// Returns where the path of a parameter or the name of an input begins in a tensor's name; 0 if it
// has neither.
size_t source_at(const std::string& name) {
  if (name.starts_with("grad/in/")) return std::string_view("grad/").size();
  return parameter_prefix(name);
}

}  // namespace

EvalLayerFiles read_eval_layer_files(const EvalLayerPaths& paths, const RenameRules& rules,
                                     const InputSections& sections) {
  const std::string &inputs_path = paths.inputs, &params_path = paths.params;
  const bool has_more =
      is_one_file(inputs_path, params_path) || is_one_file(inputs_path, paths.compare);
  EvalLayerFiles out;
  const auto read = [&](const std::string& path, const auto& is_read, Tree<HostTensor>& to) {
    const SafetensorsFile file = open_tensor_file(path);
    for (const std::string& theirs : file.names()) {
      const auto named = rules.section_name(theirs);
      if (!named || !is_read(theirs, *named)) continue;
      const auto ours = rules.tensor(theirs);
      if (!ours) continue;
      if (!to.emplace(*ours, read_tensor(file, theirs)).second) {
        throw ConfigError(fmt::format(
            "{}: expected one tensor for each Axle name, got several for '{}'", path, *ours));
      }
      if (const size_t at = parameter_prefix(*ours))
        out.file_names[ours->substr(at)] = theirs.substr(parameter_prefix(theirs));
      if (ours->starts_with("in/")) out.file_names[*ours] = theirs;
    }
  };
  if (!inputs_path.empty()) {
    read(
        inputs_path,
        [&](const std::string& theirs, const std::string& name) {
          const std::string section = section_of(name);
          if (std::ranges::count(sections.read, section)) return true;
          const bool has_path = name.find('/') != name.npos;
          const bool is_ignored = std::ranges::count(sections.ignored, section) > 0 ||
                                  (!has_path && std::ranges::count(sections.ignored, ""));
          if (!is_ignored) fail_section(inputs_path, theirs, sections);
          if (has_more) return false;
          throw ConfigError(
              fmt::format("{}: {}: nothing in this call reads it; {}", inputs_path, theirs,
                          section == "cotangent"
                              ? "--grad does"
                              : "leave it out, or name the file in --params or --compare as well"));
        },
        out.inputs);
  }
  if (!params_path.empty()) {
    Tree<HostTensor> found;
    read(
        params_path,
        [](const std::string&, const std::string& name) {
          return section_of(name) == "params" || section_of(name) == "init";
        },
        found);
    out.params = subtree(found, "params");
    if (out.params->empty()) out.params = subtree(found, "init");
  }
  return out;
}

Tree<HostTensor> EvalLayerFiles::with_file_names(Tree<HostTensor> results) const {
  Tree<HostTensor> out;
  for (auto& [name, value] : results) {
    const size_t at = source_at(name);
    const auto it = file_names.find(name.substr(at));
    out.emplace(at == 0 || it == file_names.end() ? name : name.substr(0, at) + it->second,
                std::move(value));
  }
  return out;
}

SafetensorsFile open_tensor_file(const std::string& path) {
  check_is_file<DataError>(path, "a safetensors file");
  return storage_error_as<DataError>([&] { return SafetensorsFile(path); });
}

HostTensor read_tensor(const SafetensorsFile& file, const std::string& name) {
  return storage_error_as<DataError>([&] { return file.get(name); });
}

std::string read_user_file(const std::string& path) {
  check_is_file<ConfigError>(path, "a file");
  return storage_error_as<ConfigError>([&] { return read_stream(path, kMaxConfigBytes); });
}

}  // namespace axle
