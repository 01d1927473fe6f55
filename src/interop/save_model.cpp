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
#include "interop/new_folder.h"
#include "io/file.h"
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

}  // namespace axle
