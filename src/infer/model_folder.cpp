#include "infer/model_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/version.h"
#include "checkpoint/restore.h"
#include "checkpoint/write.h"
#include "config/codec.h"
#include "config/register.h"
#include "config/serialize.h"
#include "data/text_input.h"
#include "io/created_folders.h"
#include "io/file.h"
#include "layers/causal_lm.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kModelPath = "model";
constexpr std::string_view kAveragePath = "learner/ema/model";  // learn/learner.h

fs::path config_file(const fs::path& dir) { return dir / "config.yaml"; }
fs::path checkpoints(const fs::path& dir) { return dir / "checkpoints"; }

// The part of the trainer's config that this floor knows.
struct ModelFolderConfig {
  Child<Model> model = {};
  Child<Input> input = {};
  AXLE_CONFIG(ModelFolderConfig, model, input)
};

Json read_config(const fs::path& dir) {
  if (!path_exists(config_file(dir))) {
    throw ConfigError(fmt::format("{}: expected the folder of a run or of an import, got {}",
                                  dir.string(),
                                  path_exists(dir) ? "one without config.yaml" : "nothing there"));
  }
  const std::string source = config_file(dir).string();
  Json document = parse_yaml(read_file(config_file(dir)), source);
  if (!document.is_object())
    throw ConfigError(fmt::format("{}: expected a mapping, got something else", source));
  return document;
}

// A field of `document`, null where there is none.
Json field(const Json& document, const std::string& name) {
  return document.is_object() && document.contains(name) ? document.at(name) : Json(nullptr);
}

template <class Role>
Child<Role> read_child(const Json& document, const std::string& where,
                       std::string_view advice = {}) {
  if (!document.is_object()) {
    throw ConfigError(
        fmt::format("{}: expected a class with its fields, got none{}", where, advice));
  }
  Child<Role> child;
  from_json(child, document, where);
  return child;
}

std::optional<int64_t> max_seq_len(const Child<Model>& model) {
  const auto* const lm = model.get_if<CausalLM>();
  const auto* const decoder = lm ? lm->decoder.get_if<Decoder>() : nullptr;
  return decoder ? decoder->max_seq_len : std::nullopt;
}

// A field that is no config; none also where it is not there.
template <class T>
std::optional<T> read_leaf(const Json& document, const std::string& name,
                           const std::string& where) {
  const Json value = field(document, name);
  if (!value.is_string()) return std::nullopt;
  try {
    return Codec<T>::parse(value.get<std::string>());
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", where, error.what()));
  }
}

// The tensors below `prefix`, under the names that the model has for them.
std::optional<RestoredTensors> restore_below(const fs::path& root, std::string_view prefix,
                                             const Report& report) {
  RestoredTensors out;
  const std::string below = std::string(prefix) + "/";
  const auto begin = [&](const Manifest&) -> TensorSink {
    out.tensors.clear();
    return [&](const std::string& path, HostTensor value) {
      if (path.starts_with(below))
        out.tensors.insert_or_assign(join_path(kModelPath, path.substr(below.size())),
                                     std::move(value));
    };
  };
  const auto info = restore_newest(root, begin, report);
  if (!info) return std::nullopt;
  static_cast<CheckpointInfo&>(out) = *info;
  return out;
}

void fill(const fs::path& dir, const ModelToSave& saved) {
  for (const auto& [name, bytes] : saved.files) replace_file(dir / name, bytes);
  Tree<HostTensor> tensors;
  for (const auto& [path, value] : saved.parameters)
    tensors.emplace(join_path(kModelPath, path), value);
  write_checkpoint(checkpoints(dir), 0, tensors, {});
  const ModelFolderConfig config{
      .model = saved.model,
      .input = TextInput::Config{
          .tokenizer = saved.tokenizer, .seq_len = saved.context_len, .batch_size = 1}};
  // Last: a folder without it holds no model.
  replace_file(config_file(dir), fmt::format("# axle {}\n{}", version(), to_yaml(config)));
}

}  // namespace

LoadedModel load_model(const fs::path& dir, Weights weights, const Report& report) {
  const Json config = read_config(dir);
  const std::string source = config_file(dir).string() + ": ";
  const Json input = field(config, "input");
  const auto model = read_child<Model>(field(config, "model"), source + "model");
  const auto tokenizer =
      read_child<Tokenizer>(field(input, "tokenizer"), source + "input.tokenizer",
                            "; a run on synthetic data has no text to go on from");

  LoadedModel out{
      .model = model.build({}, Scope{.path = std::string(kModelPath)}),
      .parameters = {},
      .tokenizer = tokenizer.build({}, Scope{.path = "input.tokenizer"}),
      .context_len = max_seq_len(model),
      .compute_dtype = read_leaf<DType>(config, "compute_dtype", source + "compute_dtype")};
  if (!out.context_len)
    out.context_len = read_leaf<int64_t>(input, "seq_len", source + "input.seq_len");
  if (out.tokenizer->vocab_size() > out.model->vocab_size()) {
    throw ConfigError(
        fmt::format("{}input.tokenizer: expected a vocabulary of at most the model's {}, got {}",
                    source, out.model->vocab_size(), out.tokenizer->vocab_size()));
  }

  ModelParameters parameters = load_parameters(dir, weights, report);
  out.parameters = std::move(parameters.by_path);
  out.step = parameters.step;
  return out;
}

ModelParameters load_parameters(const fs::path& dir, Weights weights, const Report& report) {
  auto restored = restore_below(checkpoints(dir),
                                weights == Weights::kAverage ? kAveragePath : kModelPath, report);
  if (!restored)
    throw ConfigError(
        fmt::format("{}: expected a checkpoint, got none; train until the first is saved",
                    checkpoints(dir).string()));
  if (restored->tensors.empty()) {
    throw ConfigError(
        fmt::format("{}: expected averaged parameters in the checkpoint of step {}, got none; set "
                    "learner.ema and train",
                    checkpoints(dir).string(), restored->step));
  }
  return {.by_path = std::move(restored->tensors), .step = restored->step};
}

void save_model(const fs::path& dir, const ModelToSave& saved) {
  if (path_exists(dir) && !(directory_exists(dir) && list_directory(dir).empty())) {
    throw ConfigError(
        fmt::format("{}: expected a new or empty folder, got one with files in it; name another",
                    dir.string()));
  }
  const auto created = create_missing_folders(dir);
  try {
    fill(dir, saved);
  } catch (...) {
    // Nobody shall take a part for a model, or have to clear it away before the next trial.
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(dir, ignored)) fs::remove_all(entry, ignored);
    remove_empty_folders(created);
    throw;
  }
}

AXLE_REGISTER(ModelFolderConfig)

}  // namespace axle
