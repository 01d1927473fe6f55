#include "cli/arguments/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/yaml.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "config/walk.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "io/safetensors.h"
#include "pjrt/saved_executable.h"

namespace axle::cli {
namespace {

template <class T>
T number_of(const std::string& flag, const std::string& text, const Bounds& bounds) {
  try {
    return NumberCodec<T>::parse(text, bounds);
  } catch (const ConfigError& error) {
    throw CLI::ValidationError(flag, error.what());
  }
}

}  // namespace

template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::function<void(T)> take,
                        const std::string& help, const Bounds& bounds) {
  return app.add_option_function<std::string>(
      flag,
      [flag, take, bounds](const std::string& text) { take(number_of<T>(flag, text, bounds)); },
      help);
}

template CLI::Option* add_number(CLI::App&, const std::string&, std::function<void(int64_t)>,
                                 const std::string&, const Bounds&);
template CLI::Option* add_number(CLI::App&, const std::string&, std::function<void(double)>,
                                 const std::string&, const Bounds&);

void add_dtype(CLI::App& app, std::optional<DType>& target, const std::string& help) {
  app.add_option_function<std::string>(
         "--dtype",
         [&target](const std::string& text) {
           target = text == "bf16" ? DType::kBF16 : DType::kF32;
         },
         help)
      ->check(CLI::IsMember({"bf16", "f32"}).description(""))
      ->type_name("bf16|f32");
}

bool is_path(const CLI::Option& option) {
  const std::string type =
      option.get_positional() ? option.get_single_name() : option.get_type_name();
  constexpr std::string_view kNames[] = {"DIR", "FILE", "PATH", "PREFIX", "RUN", "SOURCES"};
  return std::ranges::count(kNames, type) > 0 || type.ends_with(".yaml") ||
         type.ends_with(".safetensors");
}

void refuse_bad_paths(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (is_path(*option)) option->check(path_problem);
  }
}

namespace {

namespace fs = std::filesystem;

// Returns the path with links followed as far as it exists.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : real;
}

// True if `file` is `input` or lies below it. Both are real paths.
bool is_in(const fs::path& file, const fs::path& input) {
  std::error_code not_there;
  if (file == input || fs::equivalent(file, input, not_there)) return true;
  const auto [rest, unused] = std::ranges::mismatch(input, file);
  return rest == input.end() && directory_exists(input);
}

bool is_checkpoint(const fs::path& folder) {
  return folder.filename().string().starts_with("step_") && path_exists(folder / kManifestName);
}

bool is_model_folder(const fs::path& folder) { return directory_exists(checkpoints_of(folder)); }

// True if the config in `folder` names the file, as an import names its tokenizer.
bool is_named_in_config(const fs::path& folder, const std::string& name) {
  const fs::path config = config_file_of(folder);
  return path_exists(config) && read_file(config).find(name) != std::string::npos;
}

bool is_of_model_folder(const fs::path& file) {
  const fs::path folder = file.parent_path();
  const std::array own = {config_file_of(folder), metrics_file_of(folder), lock_file_of(folder)};
  if (is_model_folder(folder) &&
      (std::ranges::count(own, file) > 0 ||
       (path_exists(file) && is_named_in_config(folder, file.filename()))))
    return true;
  for (fs::path above = folder; above.has_relative_path(); above = above.parent_path()) {
    if (is_checkpoint(above)) return true;
    const fs::path parent = above.parent_path();
    if (above == event_files_of(parent) && is_model_folder(parent)) return true;
  }
  return false;
}

// True if the first line is what a model said about a document of a task.
bool holds_samples(const fs::path& file) {
  LineReader lines(file);
  const auto line = lines.next();
  return line && json_as<DataError>(file.string(), [&] {
           const nlohmann::ordered_json document = read_json(*line);
           const JsonView sample(document);
           return sample.find("task") && sample.find("document") && sample.find("metrics");
         });
}

// True if the file was written by a command that writes this kind.
bool is_of_kind(const fs::path& file, OutputKind kind) {
  try {
    switch (kind) {
      case OutputKind::kTensors:
        SafetensorsFile{file};
        return true;
      case OutputKind::kResults:
        return SafetensorsFile(file).metadata() == kResultsMetadata;
      case OutputKind::kDrawing:
        return read_file(file, kMaxConfigBytes).find("<svg") != std::string::npos;
      case OutputKind::kExecutable:
        read_saved_header(file);
        return true;
      case OutputKind::kSamples:
        return holds_samples(file);
    }
  } catch (const Error& error) {
    return kind == OutputKind::kExecutable && error.code() == ExitCode::kStorage;  // a damaged one
  }
  return false;
}

}  // namespace

void check_output_file(std::string_view flag, const std::string& file,
                       std::optional<OutputKind> kind, const std::vector<std::string>& inputs) {
  if (file.empty()) return;
  if (file.starts_with('-')) {
    throw ConfigError(
        fmt::format("{}: expected the name of a file, got {}; write ./{} for a file of "
                    "this name",
                    flag, file, file));
  }
  const fs::path real = real_path(file);
  const auto is_input = [&](const std::string& input) {
    return !input.empty() && is_in(real, real_path(input));
  };
  if (std::ranges::any_of(inputs, is_input)) {
    throw ConfigError(fmt::format(
        "{}: expected a file that this command does not use otherwise, got {}; name another", flag,
        file));
  }
  if (is_of_model_folder(real)) {
    throw ConfigError(fmt::format(
        "{}: expected a file that belongs to no run or import, got {}; name another", flag, file));
  }
  std::error_code not_there;
  const bool has_content = fs::is_regular_file(real) && fs::file_size(real, not_there) > 0;
  if (kind && has_content && !is_of_kind(real, *kind)) {
    throw ConfigError(fmt::format(
        "{}: expected a new file or one that this command wrote, got {}, which exists; name "
        "another or delete it",
        flag, file));
  }
}

void check_run_folder(const std::string& dir, const std::vector<std::string>& inputs) {
  // A part of the path that is not there yet may be left by a later one: corpus/new/..
  const fs::path run = real_path(fs::path(dir).lexically_normal());
  for (const std::string& input : inputs) {
    if (directory_exists(input) && (run == real_path(input) || real_path(dir) == real_path(input)))
      throw ConfigError(fmt::format("--dir: expected a folder of its own, got {}, the data", dir));
  }
}

std::vector<std::string> paths_in(const Slot& config) {
  std::vector<std::string> out;
  walk(config, [&](const std::string& path, const Slot& outer) {
    const Slot slot = unwrap(outer);
    const bool is_path = slot.name == "path" || path.find(".more_paths[") != path.npos;
    if (is_path && slot.ops->kind == FieldKind::kLeaf && slot.ops->leaf == LeafKind::kString)
      out.push_back(slot.ops->text(slot.at));
  });
  return out;
}

void add_ignore(CLI::App& app, std::vector<std::string>& fields) {
  app.add_option(
         "--ignore", fields,
         "A field to leave out of the config of a model of another program; may be repeated")
      ->type_name("FIELD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

namespace {

bool is_enclosed(std::string_view text, char open, char close) {
  return text.size() > 1 && text.front() == open && text.back() == close;
}

// The parts between commas that are neither in brackets nor in quotes.
std::vector<std::string> split_outside(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (c == ',' && depth <= 0 && quote == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::string flow_value(const std::string& value, bool is_list) {
  const std::string text(trim(value));
  if (is_list && is_enclosed(text, '[', ']')) {
    std::vector<std::string> elements;
    for (const std::string& element : split_outside(text.substr(1, text.size() - 2)))
      elements.push_back(flow_value(element, false));
    return fmt::format("[{}]", join(elements, ", "));
  }
  const bool is_yaml = is_enclosed(text, '"', '"') || is_enclosed(text, '\'', '\'') ||
                       is_enclosed(text, '{', '}') || is_enclosed(text, '[', ']');
  const bool has_signs = text.find_first_of("*&!|>%@`[]{}#:,\"'") != text.npos;
  const std::string out =
      has_signs && !is_yaml
          ? nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
          : text;
  return is_list && !text.empty() ? fmt::format("[{}]", out) : out;
}

}  // namespace

std::vector<FlagField> flag_fields(const char* flag, const std::string& text) {
  std::vector<FlagField> out;
  for (const std::string& field : split_outside(text)) {
    const size_t equals = field.find('=');
    if (equals == field.npos || equals == 0)
      throw CLI::ValidationError(flag, fmt::format("expected FIELD=VALUE, got '{}'", field));
    out.push_back({field.substr(0, equals), field.substr(equals + 1)});
  }
  return out;
}

std::string flow_text(const std::vector<FlagField>& fields, const ConfigType& type) {
  std::vector<std::string> out;
  for (const auto& [name, value] : fields) {
    const auto field = std::ranges::find(type.fields, std::string_view(name), &Field::name);
    const bool is_list = field != type.fields.end() && field->ops->kind == FieldKind::kList;
    out.push_back(fmt::format("{}: {}", name, flow_value(value, is_list)));
  }
  return fmt::format("{{{}}}", join(out, ", "));
}

}  // namespace axle::cli
