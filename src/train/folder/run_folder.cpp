#include "train/folder/run_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/lists.h"
#include "base/text/yaml.h"
#include "base/version.h"
#include "checkpoint/folder.h"
#include "checkpoint/state_files.h"
#include "config/carry.h"
#include "config/print.h"
#include "config/serialize.h"
#include "data/input.h"
#include "interop/foreign_model.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace {

constexpr std::string_view kEvalerData = "evaler_data";

// Of the newest checkpoint whose manifest is whole; no metadata if there is none.
CheckpointInfo newest_info(const std::filesystem::path& run) {
  const std::filesystem::path root = checkpoints_of(run);
  for (const int64_t step : Reversed(checkpoint_steps(root))) {
    try {
      const StoredCheckpoint stored(root, step);
      return {step, stored.manifest().metadata, stored.folder() / kManifestName};
    } catch (const StorageError&) {  // the resume reports it
    }
  }
  return {};
}

}  // namespace

Tree<std::string> to_tree(const RunMetadata& metadata) {
  Tree<std::string> out = {{"config", metadata.config},
                           {"data", metadata.data},
                           {"data_restarted", metadata.data_restarted ? "1" : "0"},
                           {"skipped_steps", std::to_string(metadata.skipped_steps)},
                           {"stopped", metadata.stopped},
                           {"wall_secs", fmt::format("{:.3f}", metadata.wall_secs)}};
  put_subtree(out, kEvalerData, metadata.evaler_data);
  return out;
}

RunMetadata run_metadata(const CheckpointInfo& info) {
  if (info.metadata.empty()) {  // written by save_model
    throw ConfigError(
        fmt::format("{}: expected the checkpoint of a run, got that of an import; use another "
                    "--dir, and pass the import's folder to --init-from",
                    info.manifest.string()));
  }
  RunMetadata out{.data = info.entry("data"),
                  .evaler_data = subtree(info.metadata, kEvalerData),
                  .skipped_steps = info.integer_entry("skipped_steps", 0, info.step),
                  .manifest = info.manifest};
  if (info.metadata.contains("config")) out.config = info.entry("config");
  if (info.metadata.contains("data_restarted"))
    out.data_restarted = info.integer_entry("data_restarted", 0, 1) == 1;
  if (info.metadata.contains("wall_secs"))
    out.wall_secs = info.number_entry("wall_secs", 0, std::numeric_limits<double>::max());
  if (info.metadata.contains("stopped")) out.stopped = info.entry("stopped");
  return out;
}

std::optional<RunMetadata> newest_metadata(const std::filesystem::path& run) {
  const CheckpointInfo info = newest_info(run);
  if (info.metadata.empty()) return {};
  return run_metadata(info);
}

std::string newest_config(const std::filesystem::path& run) {
  const CheckpointInfo info = newest_info(run);
  return info.metadata.contains("config") ? info.entry("config") : "";
}

void check_not_stopped(const RunMetadata& saved) {
  if (saved.stopped.empty()) return;
  throw Error(fmt::format("{}: the run stopped: {}; set on_non_finite=skip to skip all such steps, "
                          "or use --force to skip only this one",
                          saved.manifest.string(), saved.stopped),
              ExitCode::kValidationFailed);
}

DataStart restore_input(Input& input, const RunMetadata& saved, bool restart) {
  constexpr std::string_view kFromFirstRow = ", with the data from the first row";
  if (restart && !saved.data_restarted) return {true, kFromFirstRow};
  try {
    input.restore(saved.data);
  } catch (const MalformedState& error) {
    throw StorageError(fmt::format("{}: metadata.data: {}", saved.manifest.string(), error.what()));
  } catch (const DataError&) {  // the saved state belongs to other data
    if (!restart) throw;
    return {true, kFromFirstRow};
  }
  return {saved.data_restarted, restart ? ", in the data that --restart-data restarted" : ""};
}

namespace {

// Fields of the trainer that a resume may change, with everything below them.
constexpr std::string_view kSafe[] = {"max_steps",     "log_every_steps", "layer_summaries",
                                      "on_non_finite", "writers",         "checkpointer",
                                      "evalers",       "task_evalers",    "mesh",
                                      "mesh_rules",    "batch_partition"};
// Rules of machines set it, and a run goes on on another machine.
constexpr std::string_view kRowsOfDevices = "learner.device_rows";

constexpr std::string_view kInput = "input";

// True for the end of a schedule that --schedule keep would take from the saved config.
bool is_open_end(const ConfigChange& change) {
  return first_name(change.path) == "learner" && change.path.ends_with(".max_step") &&
         change.after == "none";
}

constexpr std::string_view kConfigBegins = "# axle ";

// Returns `dir`, unless a run can't have its files there, or would replace a config.yaml that no
// run wrote.
std::filesystem::path checked_folder(std::filesystem::path dir) {
  const std::filesystem::path config = config_file_of(dir);
  for (const auto& file : {config, metrics_file_of(dir)}) check_regular(file);
  std::error_code not_there;
  if (!std::filesystem::is_regular_file(config, not_there) || directory_exists(checkpoints_of(dir)))
    return dir;
  const std::string text = read_file(config, kMaxConfigBytes);
  if (text.empty() || text.starts_with(kConfigBegins)) return dir;
  throw ConfigError(fmt::format(
      "{}: expected none, or the config that a run wrote, got another file, which this run would "
      "replace; use another --dir",
      config.string()));
}

// Returns those of a run's own files that are not there.
std::vector<std::filesystem::path> missing_files(const std::filesystem::path& dir) {
  std::vector<std::filesystem::path> out = {config_file_of(dir), metrics_file_of(dir),
                                            lock_file_of(dir), trained_chat_template_file(dir)};
  std::erase_if(out, [](const std::filesystem::path& file) { return path_exists(file); });
  return out;
}

}  // namespace

bool is_safe_change(std::string_view path) {
  const bool is_data = path.ends_with(".path") || path.ends_with(".chat_template") ||
                       path.find(".more_paths") != path.npos;
  if (first_name(path) == kInput && is_data) return true;
  return path == kRowsOfDevices || std::ranges::count(kSafe, first_name(path)) > 0;
}

RunFolder::RunFolder(std::filesystem::path dir)
    : dir_(checked_folder(std::move(dir))),
      created_(make_directories(dir_)),
      new_(missing_files(dir_)),
      lock_(lock_file_of(dir_)) {}

RunFolder::~RunFolder() {
  if (kept_ || replaced_) return;
  while_memory_lasts([this] {
    // Only empty folders are removed. A checkpoint and anything that others put here stay.
    if (::rmdir(checkpoints().c_str()) != 0 && errno != ENOENT) return;
    for (const auto& file : new_) ::unlink(file.c_str());
    for (const auto& folder : created_) {
      if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) break;
    }
  });
}

void RunFolder::check_in_place() {
  if (lost_ || lock_.folder_is_in_place()) return;
  lost_ = true;
  replaced_ = path_exists(dir_);
  if (!replaced_) {
    make_directories(dir_);
    if (!config_text_.empty()) replace_file(config_file(), config_text_);
  }
  throw StorageError(
      fmt::format("{}: expected the run's folder to stay in place, found it {}", dir_.string(),
                  replaced_ ? "replaced by another folder, where nothing is saved"
                            : "removed or moved; a new folder was made for the last checkpoint"));
}

void RunFolder::set_config(const Slot& config, int64_t seed) {
  nlohmann::ordered_json document = to_json(config);
  resolve_tokenizer_paths(document, std::filesystem::current_path());
  config_text_ =
      fmt::format("{}{}, seed {}\n{}", kConfigBegins, version(), seed, yaml_text(document));
  config_written_ = false;
}

void RunFolder::write_config() {
  if (config_written_) return;
  replace_file(config_file(), config_text_);
  config_written_ = true;
}

void RunFolder::begin(const Slot& config, bool is_new, const InputFacts& data,
                      const InitFrom& init) {
  if (is_new) {
    write_config();
    const auto will_make = [&](const std::filesystem::path& file) { new_.push_back(file); };
    keep_tokenizers(to_json(config), dir_, will_make);
    keep_origin(init.folder, dir_, will_make);
  }
  if (const size_t count = data.chat_templates.size(); count > 1) {
    report_to_stderr(
        fmt::format("WARNING: input: expected conversations of one chat template, got {}; `axle "
                    "generate --chat` and exports take the first source's",
                    count));
  }
  keep_chat_template(data.chat_templates, dir_, is_new);
}

void RunFolder::update_config() {
  try {
    write_config();
  } catch (const StorageError& error) {
    report_to_stderr(
        fmt::format("axle: {}; training goes on, and the next save tries again", error.what()));
  }
}

void RunFolder::replace_lost_config(const std::string& text) {
  if (text.empty() || path_exists(config_file())) return;
  replace_file(config_file(), text);
  std::erase(new_, config_file());
}

void RunFolder::check_same_config(const RunMetadata& saved, const Slot& config, ConfigRef scratch,
                                  const AllowedChanges& allowed) const {
  if (allowed.all) return;
  const bool is_saved = !saved.config.empty();
  const std::string source =
      is_saved ? saved.manifest.string() + ": metadata.config" : config_file().string();
  if (!is_saved && !path_exists(config_file())) {
    throw ConfigError(
        fmt::format("{}: expected the config of this run, got none; use another --dir, or --force "
                    "to continue with the config of the command line",
                    source));
  }
  config_error_in(source, [&] {
    const auto document = parse_yaml(is_saved ? saved.config : read_file(config_file()), source);
    try {
      from_json(scratch, document);
    } catch (const ConfigError& error) {
      throw ConfigError(
          fmt::format("{}; if another version or program wrote it, use --force to continue with "
                      "the config of the command line",
                      error.what()));
    }
  });
  std::string differences;
  bool only_open_ends = true;
  for (const ConfigChange& c : changes(scratch, config)) {
    const bool is_allowed = allowed.input && first_name(c.path) == kInput;
    if (is_allowed || c.keeps_results || is_safe_change(c.path)) continue;
    only_open_ends = only_open_ends && is_open_end(c);
    differences += fmt::format("\n  {}: {} -> {}", c.path, c.before.value_or("(none)"),
                               c.after.value_or("(none)"));
  }
  if (differences.empty()) return;
  if (only_open_ends) {
    throw ConfigError(
        fmt::format("{}: expected the ends of schedules of this run, got open ones; use --schedule "
                    "keep to go on from where it stands, or --force to stretch them to the new "
                    "end:{}",
                    dir_.string(), differences));
  }
  throw ConfigError(
      fmt::format("{}: expected the config of this run, got these differences; use another --dir, "
                  "or --force to continue (--restart-data if only the data differ):{}",
                  dir_.string(), differences));
}

}  // namespace axle
