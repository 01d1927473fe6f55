// Options that several verbs have: numbers, texts of enums, dtypes, paths, and files to write.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "config/config_type.h"
#include "config/leaf.h"
#include "config/walk.h"
#include "ir/dtype.h"

// Options with number values. They are parsed like fields of a config. CLI11's own parser reads 010
// as an octal number and clamps a number that is too large.

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// Adds an option that passes its number, which must be within `bounds`, to `take`, which may throw
/// ConfigError. T is int64_t or double.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::function<void(T)> take,
                        const std::string& help, const Bounds& bounds = {});

/// Adds an option that stores its number in `to`.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<T>& to,
                        const std::string& help, const Bounds& bounds = {}) {
  return add_number<T>(app, flag, std::function<void(T)>([&to](T v) { to = v; }), help, bounds);
}

/// Adds an option that stores the value of its text in `to`, an enum with texts or an optional one.
/// Other texts are an error that lists the enum's texts.
template <EnumWithTexts E, class To>
CLI::Option* add_enum(CLI::App& app, const std::string& flag, To& to, const std::string& help) {
  std::set<std::string> texts;
  for (const auto& row : texts_of(E{})) texts.emplace(row.text);
  const auto take = [&to](const std::string& text) {
    E value{};
    from_text(text, value);
    to = value;
  };
  return app.add_option_function<std::string>(flag, take, help)->check(CLI::IsMember(texts));
}
template <EnumWithTexts E>
CLI::Option* add_enum(CLI::App& app, const std::string& flag, E& to, const std::string& help) {
  return add_enum<E, E>(app, flag, to, help);
}
template <EnumWithTexts E>
CLI::Option* add_enum(CLI::App& app, const std::string& flag, std::optional<E>& to,
                      const std::string& help) {
  return add_enum<E, std::optional<E>>(app, flag, to, help);
}

/// Adds --dtype bf16|f32, which writes to `target`.
void add_dtype(CLI::App& app, std::optional<DType>& target, const std::string& help);

/// True for options with values called DIR, FILE, PATH, PREFIX, RUN, SOURCES, *.yaml or
/// *.safetensors, and for positional arguments with such a name.
bool is_path(const CLI::Option& option);

/// Makes every path option refuse paths that have a path_problem.
void refuse_bad_paths(CLI::App& app);

/// What a command writes into a file. Results are tensors that Axle computed, with
/// kResultsMetadata. Samples are what a model says about the documents of tasks, as JSON lines.
enum class OutputKind { kTensors, kResults, kDrawing, kExecutable, kSamples };

inline const std::map<std::string, std::string> kResultsMetadata = {{"written_by", "axle"}};

/// Throws ConfigError "<flag>: ..." for a name that begins with '-', which may be a flag without
/// its value, and for a file whose content would be lost:
///   one of `inputs`, which the same command reads, or a file below one that is a folder;
///   a file of a run or of an import: its config, records, lock, tokenizer, or anything in a
///   checkpoint;
///   a file of another kind than `kind`, if one is given. One of that kind is replaced, as a
///   compiler replaces what it wrote before. An empty one is of any kind.
/// Empty names are ignored.
void check_output_file(std::string_view flag, const std::string& file,
                       std::optional<OutputKind> kind, const std::vector<std::string>& inputs = {});

/// Throws ConfigError "--dir: ..." for a folder of a run that is one of the folders of data in
/// `inputs`: a later run would count the files of this one as documents that are left out.
void check_run_folder(const std::string& dir, const std::vector<std::string>& inputs);

/// Returns the files and folders that a config names: its fields called "path".
std::vector<std::string> paths_in(const Slot& config);

/// Adds --ignore FIELD, which may be repeated.
void add_ignore(CLI::App& app, std::vector<std::string>& fields);

struct FlagField {
  std::string name, value;
};

/// Reads FIELD=VALUE with commas between them. A comma in brackets or quotes is part of a value.
/// Throws CLI::ValidationError for other text.
std::vector<FlagField> flag_fields(const char* flag, const std::string& text);
/// Returns the fields as YAML: "{rank: 16, at: \"**.attention.**\"}". What would be a sign of YAML
/// in a value is quoted, and one value of a list is a list: patterns need no quotes. `type` says
/// which fields are lists.
std::string flow_text(const std::vector<FlagField>& fields, const ConfigType& type);

}  // namespace axle::cli
