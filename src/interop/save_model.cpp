#include "interop/save_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/text/text.h"
#include "base/version.h"
#include "checkpoint/folder.h"
#include "checkpoint/state_files.h"
#include "config/register.h"
#include "config/serialize.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "nn/param.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kModelPath = "model";

/// The config of an imported model's folder: the part of the trainer's config that infer/ reads.
struct ModelFolderConfig {
  /// The model.
  Child<Model> model = {};
  /// Its input, at least its tokenizer and seq_len.
  Child<Input> input = {};
  /// The type to compute in; none: the types of the parameters.
  std::optional<FloatDType> compute_dtype = {};
  AXLE_CONFIG(ModelFolderConfig, model, input, compute_dtype)
};

// The input of a saved model: what inference and further training read of it.
Child<Input> input_of(const ModelToSave& saved) {
  if (saved.input) return saved.input;
  if (!saved.tokenizer)
    return SyntheticInput::Config{.seq_len = saved.context_len, .position_streams = saved.streams};
  return TextInput::Config{.tokenizer = saved.tokenizer,
                           .seq_len = saved.context_len,
                           .position_streams = saved.streams};
}

ModelFolderConfig folder_config(const ModelToSave& saved) {
  return {.model = saved.model, .input = input_of(saved), .compute_dtype = saved.compute_dtype};
}

// What a run that begins with the model trains, as the field of a config: the rest of the learner
// is its own. Null for a model of which everything is trained.
Json trained_of(const ModelToSave& saved) {
  if (saved.also_trained.empty()) return nullptr;
  Json out{{"frozen", {"**"}}, {"trained", {"**.lora_down", "**.lora_up"}}};
  for (const std::string& path : saved.also_trained) out["trained"].push_back("**." + dotted(path));
  return out;
}

// Writes what save_model() promises into an existing folder.
void write_model(const fs::path& dir, ModelToSave saved) {
  const ModelFolderConfig config = folder_config(saved);
  std::string text = to_yaml(config);
  // JSON is YAML.
  if (const Json trained = trained_of(saved); !trained.is_null())
    text += fmt::format("learner: {}\n", trained.dump());
  for (const auto& [name, bytes] : saved.files) replace_file(dir / name, bytes);
  Tree<HostTensor> tensors;
  put_subtree(tensors, kModelPath, std::move(saved.parameters));
  put_subtree(tensors, kLayerStatePath, std::move(saved.layer_state));
  write_checkpoint(checkpoints_of(dir), saved.step, tensors, {});
  // The config comes last: a folder without it holds no model.
  replace_file(config_file_of(dir), fmt::format("# axle {}\n{}", version(), text));
}

NewFolder model_folder(const fs::path& dir) {
  return {.dir = dir,
          .unfinished = "import.tmp",
          .lock = "import.lock",
          .last = config_file_of(dir).filename()};
}

}  // namespace

void check_new_model(const fs::path& dir, const std::vector<std::string>& files) {
  const NewFolder folder = model_folder(dir);
  const std::vector<std::string> own = {folder.last, checkpoints_of(dir).filename(),
                                        folder.unfinished, folder.lock,
                                        std::string(kNamesInMotion)};
  for (const std::string& file : files) {
    if (std::ranges::count(own, file) == 0) continue;
    throw ConfigError(
        fmt::format("{}: expected a file name other than {}, which the folder uses itself, got "
                    "'{}'; rename the "
                    "file",
                    dir.string(), join(own, ", "), file));
  }
  check_new_folder(folder);
}

void save_model(const fs::path& dir, ModelToSave saved) {
  std::vector<std::string> files;
  for (const auto& [name, bytes] : saved.files) files.push_back(name);
  check_new_model(dir, files);
  write_new_folder(model_folder(dir),
                   [&](const fs::path& unfinished) { write_model(unfinished, std::move(saved)); });
}

nlohmann::ordered_json config_document(const ModelToSave& saved) {
  Json out = to_json(folder_config(saved));
  if (Json trained = trained_of(saved); !trained.is_null()) out["learner"] = std::move(trained);
  return out;
}

AXLE_REGISTER(ModelFolderConfig)

namespace {

namespace fs = std::filesystem;

// Returns the names that a process leaves in the folder if it is killed; the last file is first,
// since a folder without it is not complete.
std::vector<std::string> names_of_unfinished(const NewFolder& folder) {
  const fs::path unfinished = folder.dir / folder.unfinished;
  if (!path_exists(unfinished)) return {};
  std::vector<std::string> out = {folder.last, folder.unfinished};
  const fs::path moved = unfinished / kNamesInMotion;
  if (!path_exists(moved)) return out;
  const auto names = nlohmann::json::parse(read_file(moved), nullptr, false);
  for (const auto& name : names)
    if (name.is_string()) out.push_back(fs::path(name.get<std::string>()).filename());
  return out;
}

// Moves what was written to its final path. The names are written down first: a process that is
// killed before the last one leaves files that the next one must know as its own.
void put_in_place(const NewFolder& folder) {
  const fs::path unfinished = folder.dir / folder.unfinished;
  std::vector<std::string> names;
  for (const fs::path& entry : list_directory(unfinished)) {
    const fs::path name = entry.filename();
    if (name != folder.lock && name != folder.last) names.push_back(name);
  }
  replace_file(unfinished / kNamesInMotion, nlohmann::json(names).dump());
  for (const std::string& name : names) rename_durably(unfinished / name, folder.dir / name);
  rename_durably(unfinished / folder.last, folder.dir / folder.last);
  remove_tree(unfinished);
}

}  // namespace

void check_new_folder(const NewFolder& folder) {
  const fs::path& dir = folder.dir;
  if (!path_exists(dir)) return;
  const std::vector<std::string> ours = names_of_unfinished(folder);
  const auto is_ours = [&](const fs::path& entry) {
    return std::ranges::count(ours, entry.filename().string()) > 0;
  };
  if (directory_exists(dir) && std::ranges::all_of(list_directory(dir), is_ours)) return;
  throw ConfigError(fmt::format("{}: expected a new or empty folder, got {}; name another",
                                dir.string(),
                                directory_exists(dir) ? "one with files in it" : "a file"));
}

void write_new_folder(const NewFolder& folder,
                      const std::function<void(const fs::path& unfinished)>& write) {
  check_new_folder(folder);
  const fs::path unfinished = folder.dir / folder.unfinished;
  const std::vector<fs::path> created = make_directories(unfinished);
  std::optional<FileLock> lock;
  bool is_ours = false;
  try {
    lock.emplace(unfinished / folder.lock);
    check_new_folder(folder);  // another process may have been at it until now
    is_ours = true;
    // Left by a process that was killed while it moved its files into place.
    for (const std::string& name : names_of_unfinished(folder)) {
      if (name != folder.unfinished) remove_tree(folder.dir / name);
    }
    for (const fs::path& entry : list_directory(unfinished)) {
      if (entry.filename() != folder.lock) remove_tree(entry);  // left by a process that was killed
    }
    write(unfinished);
    put_in_place(folder);
  } catch (...) {
    std::error_code ignored;  // the caller must see the original error
    if (is_ours) {
      for (const fs::path& entry : list_directory(folder.dir)) fs::remove_all(entry, ignored);
    }
    for (const fs::path& path : created) fs::remove(path, ignored);
    throw;
  }
}

}  // namespace axle
