#include "interop/save_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "base/version.h"
#include "checkpoint/folder.h"
#include "checkpoint/run_files.h"
#include "checkpoint/write.h"
#include "config/document/serialize.h"
#include "config/register.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "nn/param.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kModelPath = "model";
// Name of the subfolder in which a model is written before it is moved into place as a whole.
constexpr const char* kUnfinished = "import.tmp";
constexpr const char* kLock = "import.lock";  // in kUnfinished; held by the process that writes

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

// Writes what save_model() promises into an existing folder.
void write_model(const fs::path& dir, ModelToSave saved) {
  const ModelFolderConfig config = folder_config(saved);
  for (const auto& [name, bytes] : saved.files) replace_file(dir / name, bytes);
  Tree<HostTensor> tensors;
  put_subtree(tensors, kModelPath, std::move(saved.parameters));
  put_subtree(tensors, kLayerStatePath, std::move(saved.layer_state));
  write_checkpoint(checkpoints_of(dir), saved.step, tensors, {});
  // The config comes last: a folder without it holds no model.
  replace_file(config_file_of(dir), fmt::format("# axle {}\n{}", version(), to_yaml(config)));
}

// Returns the names that a process which saves such files leaves in `dir` if it is killed; the
// config is first, since a folder without it holds no model.
std::vector<std::string> names_of_unfinished(const fs::path& dir,
                                             const std::vector<std::string>& files) {
  if (!path_exists(dir / kUnfinished)) return {};
  std::vector<std::string> out = {config_file_of(dir).filename(), checkpoints_of(dir).filename(),
                                  kUnfinished};
  out.insert(out.end(), files.begin(), files.end());
  return out;
}

// Moves the files that write_model() wrote to their final place; the config again comes last.
void put_in_place(const fs::path& unfinished, const fs::path& dir) {
  for (const fs::path& entry : list_directory(unfinished)) {
    if (entry.filename() != kLock && entry != config_file_of(unfinished))
      rename_durably(entry, dir / entry.filename());
  }
  rename_durably(config_file_of(unfinished), config_file_of(dir));
  remove_tree(unfinished);
}

}  // namespace

void check_new_model(const fs::path& dir, const std::vector<std::string>& files) {
  const std::vector<std::string> own = {config_file_of(dir).filename(),
                                        checkpoints_of(dir).filename(), kUnfinished, kLock};
  for (const std::string& file : files) {
    if (std::ranges::count(own, file) == 0) continue;
    throw ConfigError(
        fmt::format("{}: expected a file name other than {}, which the folder uses itself, got "
                    "'{}'; rename the "
                    "file",
                    dir.string(), join(own, ", "), file));
  }
  if (!path_exists(dir)) return;
  const std::vector<std::string> ours = names_of_unfinished(dir, files);
  const auto is_ours = [&](const fs::path& entry) {
    return std::ranges::count(ours, entry.filename().string()) > 0;
  };
  if (directory_exists(dir) && std::ranges::all_of(list_directory(dir), is_ours)) return;
  throw ConfigError(fmt::format("{}: expected a new or empty folder, got {}; name another",
                                dir.string(),
                                directory_exists(dir) ? "one with files in it" : "a file"));
}

void save_model(const fs::path& dir, ModelToSave saved) {
  std::vector<std::string> files;
  for (const auto& [name, bytes] : saved.files) files.push_back(name);
  check_new_model(dir, files);
  const fs::path unfinished = dir / kUnfinished;
  const std::vector<fs::path> created = make_directories(unfinished);
  std::optional<FileLock> lock;
  bool is_ours = false;
  try {
    lock.emplace(unfinished / kLock);
    check_new_model(dir, files);  // another process may have been at it until now
    is_ours = true;
    for (const fs::path& entry : list_directory(unfinished)) {
      if (entry.filename() != kLock) remove_tree(entry);  // left by a process that was killed
    }
    // Left by a process that was killed while it moved its files into place.
    for (const std::string& name : names_of_unfinished(dir, files)) {
      if (name != kUnfinished) remove_tree(dir / name);
    }
    write_model(unfinished, std::move(saved));
    put_in_place(unfinished, dir);
  } catch (...) {
    std::error_code ignored;  // the caller must see the original error
    if (is_ours) {
      for (const fs::path& entry : list_directory(dir)) fs::remove_all(entry, ignored);
    }
    for (const fs::path& folder : created) fs::remove(folder, ignored);
    throw;
  }
}

nlohmann::ordered_json config_document(const ModelToSave& saved) {
  return to_json(folder_config(saved));
}

AXLE_REGISTER(ModelFolderConfig)

}  // namespace axle
