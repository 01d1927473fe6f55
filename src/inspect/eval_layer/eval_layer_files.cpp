#include "inspect/eval_layer/eval_layer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text/text.h"
#include "base/tree.h"
#include "config/document/yaml.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
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
