#include "inspect/eval_layer_files.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/file.h"
#include "io/safetensors.h"

namespace axle {
namespace {

SafetensorsFile open(const std::string& path) {
  if (!path_exists(path))
    throw ConfigError(fmt::format("{}: expected a safetensors file, got nothing there", path));
  return SafetensorsFile(path);
}

// "grad/params/x" -> "params/x", whose name the files know.
std::string source_of(const std::string& result) {
  if (result.starts_with("grad/")) return result.substr(5);
  if (result.starts_with("init_params/")) return result.substr(5);
  return {};
}

}  // namespace

EvalLayerFiles read_eval_layer_files(const std::string& inputs_path, const std::string& params_path,
                                     const RenameRules& rules) {
  EvalLayerFiles out;
  const SafetensorsFile inputs = open(inputs_path);
  for (const std::string& name : inputs.names()) {
    const bool is_input = name.starts_with("in/");
    if (!is_input && !name.starts_with("state/") && !name.starts_with("cotangent/")) continue;
    const std::string ours = is_input ? rules.apply(name).value_or(name) : name;
    if (!out.inputs.emplace(ours, inputs.get(name)).second) {
      throw ConfigError(fmt::format("{}: expected one input for each of ours, got several for '{}'",
                                    inputs_path, ours));
    }
    out.theirs[ours] = name;
  }
  if (params_path.empty()) return out;
  const SafetensorsFile params = open(params_path);
  out.params.emplace();
  for (const std::string& name : params.names()) {
    if (!name.starts_with("params/")) continue;
    const std::string theirs = name.substr(std::string_view("params/").size());
    const std::string ours = rules.require(theirs);
    if (!out.params->emplace(ours, params.get(name)).second) {
      throw ConfigError(fmt::format(
          "{}: expected one parameter for each of ours, got several for '{}'", params_path, ours));
    }
    out.theirs["params/" + ours] = name;
  }
  return out;
}

Tree<HostTensor> EvalLayerFiles::with_their_names(Tree<HostTensor> results) const {
  Tree<HostTensor> out;
  for (auto& [name, value] : results) {
    const std::string source = source_of(name);
    const auto it = theirs.find(source);
    const std::string prefix = name.substr(0, name.size() - source.size());
    out.emplace(it == theirs.end() || source.empty() ? name : prefix + it->second,
                std::move(value));
  }
  return out;
}

std::string read_user_file(const std::string& path) {
  if (!path_exists(path))
    throw ConfigError(fmt::format("{}: expected a file, got nothing there", path));
  return read_file(path);
}

}  // namespace axle
