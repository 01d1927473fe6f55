#include "interop/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/text.h"
#include "base/text/yaml.h"
#include "base/tree.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "config/leaf.h"
#include "config/serialize.h"
#include "interop/foreign_model.h"
#include "interop/hugging_face.h"
#include "interop/peft_adapters.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "ir/host_tensor.h"
#include "ir/type.h"
#include "layers/models/model.h"
#include "layers/products/lora_product.h"
#include "layers/products/quantized_product.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kModelPath = "model";
constexpr std::string_view kAveragePath = "learner/ema/model";  // learn/learner.h

// Returns a field of `document`; null if there is none.
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

// Reads a field that is not a config; none if the field does not exist.
template <class T>
std::optional<T> read_leaf(const Json& document, const std::string& name,
                           const std::string& where) {
  const Json value = field(document, name);
  if (!value.is_string()) return std::nullopt;
  try {
    return parse_leaf<T>(value.get<std::string>());
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", where, error.what()));
  }
}

void check_stored(const fs::path& root, const Manifest& manifest, Weights weights,
                  const StoredPart& wanted) {
  Tree<Type> stored;
  for (const auto& [path, tensor] : manifest.tensors) {
    if (const auto name = wanted.name_of(path, stored_prefix(weights)))
      stored.emplace(*name, tensor.type);
  }
  if (stored.empty() && weights == Weights::kAverage) {
    throw ConfigError(
        fmt::format("{}: expected averaged parameters in the checkpoint of step {}, got none; set "
                    "learner.ema and train",
                    root.string(), manifest.step));
  }
  if (const std::string text = type_differences(types_of(wanted.specs), stored); !text.empty()) {
    throw ConfigError(
        fmt::format("{}: expected the parameters of the config's model in the checkpoint of step "
                    "{}, got others: {}",
                    root.string(), manifest.step, text));
  }
}

void check_folder(const fs::path& dir) {
  if (!directory_exists(dir)) fail_no_model(dir);
  if (path_exists(config_file_of(dir))) return;
  check_no_model_inside(dir);
  if (!path_exists(checkpoints_of(dir))) fail_no_model(dir);
}

Json parse_config(const std::string& text, const std::string& source, const fs::path& dir) {
  Json document = parse_yaml(text, source);
  if (!document.is_object())
    throw ConfigError(fmt::format("{}: expected a mapping, got something else", source));
  resolve_tokenizer_paths(document, dir);
  return document;
}

// Warns of a config.yaml that can't be read, or that differs from the checkpoint's config in what a
// model folder is read for.
void compare_with_file(const fs::path& dir, const Json& config, int64_t step,
                       const Report& report) {
  const fs::path file = config_file_of(dir);
  if (!path_exists(file)) return;
  std::string problem =
      fmt::format("{} differs from the config of the checkpoint of step {}", file.string(), step);
  try {
    const Json own = parse_config(read_file(file), file.string(), dir);
    const auto is_same = [&](const char* name) { return field(own, name) == field(config, name); };
    if (is_same("model") && is_same("input") && is_same("compute_dtype")) return;
  } catch (const Error& error) {
    problem = error.what();
  }
  report(fmt::format("WARNING: {}; the checkpoint's config is used", problem));
}

ModelConfig config_of(const fs::path& dir, const Manifest& manifest, const Report& report) {
  const auto kept = manifest.metadata.find("config");
  const bool is_import = kept == manifest.metadata.end() || kept->second.empty();
  if (is_import) check_config_file(dir);
  const fs::path folder = checkpoint_folder(checkpoints_of(dir), manifest.step);
  const std::string source = is_import ? config_file_of(dir).string()
                                       : (folder / kManifestName).string() + ": metadata.config";
  const std::string text = is_import ? read_file(config_file_of(dir)) : kept->second;
  ModelConfig out{parse_config(text, source, dir), source};
  if (!is_import) compare_with_file(dir, out.document, manifest.step, report);
  take_kept_tokenizers(out.document, dir, report);
  return out;
}

// Returns what to load from a checkpoint.
using WantedOf = std::function<StoredPart(const Manifest&)>;

ModelParameters load(const fs::path& dir, const WantedOf& wanted_of, Weights weights,
                     const Report& report) {
  check_folder(dir);
  const fs::path root = checkpoints_of(dir);
  ModelParameters out;
  StoredPart wanted;
  const auto begin = [&](const Manifest& manifest) -> TensorSink {
    wanted = wanted_of(manifest);
    check_stored(root, manifest, weights, wanted);
    out.by_path.clear();
    int64_t bytes = 0;
    for (const auto& [path, tensor] : manifest.tensors) {
      if (wanted.name_of(path, stored_prefix(weights)))
        bytes += static_cast<int64_t>(tensor.type.num_bytes());
    }
    check_host_allocation(root.string(), "the model", bytes);
    return [&](const std::string& path, HostTensor value) {
      if (const auto name = wanted.name_of(path, stored_prefix(weights)))
        out.by_path.insert_or_assign(*name, std::move(value));
    };
  };
  const auto info = restore_newest(root, begin, report);
  if (!info) {
    check_config_file(dir);
    throw ConfigError(fmt::format(
        "{}: expected a checkpoint, got none; train until the first is saved", root.string()));
  }
  if (const auto bad = first_non_finite(out.by_path)) {
    throw Error(fmt::format("{}: expected finite numbers in the checkpoint of step {}, got NaN or "
                            "infinity in {}",
                            root.string(), info->step, *bad),
                ExitCode::kValidationFailed);
  }
  out.step = info->step;
  return out;
}

// True for a model of another program. The fields of a run are all known.
bool is_read_in_place(const ModelPath& place) {
  const bool is_foreign = is_foreign_model(place.path);
  if (!is_foreign && !place.ignored.empty()) {
    throw ConfigError(
        fmt::format("--ignore {}: expected a model of another program, whose config has fields to "
                    "leave out, got {}",
                    place.ignored.front(), place.path.string()));
  }
  return is_foreign;
}

// The parameters of a model of another program, in the dtypes that the caller wants.
ModelParameters load_foreign(const ModelPath& place, const SpecsOfConfig& specs_of, Weights weights,
                             const Report& report, const Layer* codes_of = nullptr) {
  const fs::path& path = place.path;
  if (weights == Weights::kAverage) {
    throw ConfigError(
        fmt::format("{}: expected a run with averaged parameters, got a model of another program",
                    path.string()));
  }
  const Tree<Type> wanted = types_of(specs_of(model_config(place)));
  ForeignOptions options{.read = {.ignored = place.ignored}};
  for (const auto& [name, type] : subtree(wanted, kModelPath))
    options.read.dtypes.by_path.emplace(name, type.dtype);
  options.read.codes_of = codes_of;
  ModelToSave saved = read_foreign_model(path, options);
  if (!saved.special_ids.empty()) report(saved.special_ids);
  ModelParameters out;
  put_subtree(out.by_path, kModelPath, std::move(saved.parameters));
  put_subtree(out.by_path, kLayerStatePath, std::move(saved.layer_state));
  out.num_rounded = saved.num_rounded;
  Tree<Type> found;
  for (const auto& [name, value] : out.by_path) found.emplace(name, value.type());
  if (const std::string text = type_differences(wanted, found); !text.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected the parameters of the config's model, got others: {}", path.string(), text));
  }
  return out;
}

// Removes the state of frozen models, which only training reads.
void drop_frozen(const Model& model, Tree<HostTensor>& by_path) {
  Tree<ParamSpec> kept;
  put_subtree(kept, kLayerStatePath, inference_state_specs(model));
  const std::string state = std::string(kLayerStatePath) + "/";
  std::erase_if(by_path, [&](const auto& stored) {
    return stored.first.starts_with(state) && !kept.contains(stored.first);
  });
}

// Returns the streams of positions of an input.
std::vector<PositionStream> streams_of(const Json& input, const std::string& where) {
  const Json streams = field(input, "position_streams");
  std::vector<PositionStream> out;
  if (!streams.is_array()) return out;
  for (size_t i = 0; i < streams.size(); ++i) {
    const Json named{{"stream", streams[i]}};
    if (const auto stream = read_leaf<PositionStream>(named, "stream", where))
      out.push_back(*stream);
  }
  return out;
}

// Adds the tokenizer of the input, whose vocabulary must fit the model's.
void add_tokenizer(LoadedModel& out, const ModelConfig& config, const Json& input) {
  const std::string source = config.source + ": ";
  out.tokenizer_config = read_child<Tokenizer>(
      field(input, "tokenizer"), source + "input.tokenizer",
      "; an import without a tokenizer (--tokenizer) and a run on synthetic data have none");
  out.tokenizer = config_error_in(config.source, [&] {
    return out.tokenizer_config.build({}, Scope{.path = "input.tokenizer"});
  });
  out.streams = stream_rule(std::move(out.streams.streams), *out.tokenizer);
  if (const int64_t needed = needed_vocab_size(*out.tokenizer); needed > out.model->vocab_size()) {
    throw ConfigError(
        fmt::format("{}input.tokenizer: expected a vocabulary of at most the model's {}, got {}",
                    source, out.model->vocab_size(), needed));
  }
}

// Leaves adapters out of what is loaded if none of them is stored.
void drop_new_adapters(const Model& model, const std::function<bool(const std::string&)>& is_stored,
                       Tree<ParamSpec>& specs) {
  const std::vector<std::string> adapters = adapter_paths(model);
  if (std::ranges::any_of(adapters, is_stored)) return;
  for (const std::string& path : adapters) specs.erase(path);
}

bool is_synthetic(const Json& input) { return field(input, "class") == "SyntheticInput"; }

// All but the parameters.
LoadedModel build_model(const ModelConfig& config, RunData data) {
  const std::string source = config.source + ": ";
  const Json input = field(config.document, "input");
  const auto model = read_child<Model>(field(config.document, "model"), source + "model");
  LoadedModel out{
      .config = model,
      .model = config_error_in(
          config.source, [&] { return model.build({}, Scope{.path = std::string(kModelPath)}); }),
      .parameters = {},
      .tokenizer_config = {},
      .tokenizer = {},
      .context_len = {}};
  out.input = input;
  out.learner = field(config.document, "learner");
  out.streams.streams = streams_of(input, source + "input.position_streams");
  if (data == RunData::kText || !is_synthetic(input)) add_tokenizer(out, config, input);
  out.context_len = out.model->max_seq_len();
  out.compute_dtype =
      read_leaf<FloatDType>(config.document, "compute_dtype", source + "compute_dtype");
  if (!out.context_len)
    out.context_len = read_leaf<int64_t>(input, "seq_len", source + "input.seq_len");
  if (out.context_len && *out.context_len < 1) {
    throw ConfigError(
        fmt::format("{}input.seq_len: expected at least 1, got {}", source, *out.context_len));
  }
  return out;
}

// Returns the part of the model in the checkpoint that a new run of `model` begins with: all of it,
// unless that trained a part beside a frozen model and `model` is none such.
std::string part_for(const Model& model, const fs::path& dir, const Manifest& manifest) {
  const auto is_stored = [&](const auto& spec) { return manifest.tensors.contains(spec.first); };
  if (std::ranges::any_of(model.param_specs(), is_stored)) return {};
  const ModelConfig config = config_of(dir, manifest, [](const std::string&) {});
  return trained_part(read_child<Model>(field(config.document, "model"), config.source)).path;
}

// Weights that the model keeps as codes are read as numbers if `dir` is a run that does.
ModelParameters initial_parameters(const ModelPath& place, const Model& model,
                                   const Report& report) {
  if (is_read_in_place(place)) {
    const auto specs_of = [&](const ModelConfig& config) {
      const auto foreign = read_child<Model>(field(config.document, "model"), config.source);
      const auto stored = stored_specs(*foreign.build({}, Scope{.path = std::string(kModelPath)}));
      Tree<ParamSpec> specs = model.param_specs();
      drop_new_adapters(
          model, [&](const std::string& path) { return stored.contains(path); }, specs);
      for (const auto& [path, spec] : stored_specs(model))
        if (stored.contains(path)) specs.emplace(path, spec);
      return specs;
    };
    ModelParameters out = load_foreign(place, specs_of, Weights::kTrained, report, &model);
    out.num_coded = std::ssize(quantized_products(model));
    return out;
  }
  const WantedOf wanted_of = [&](const Manifest& manifest) {
    const std::string part = part_for(model, place.path, manifest);
    Tree<ParamSpec> specs =
        keeps_layer_state(manifest, part) ? stored_specs(model) : model.param_specs();
    const StoredDType stored = [&](const std::string& path) {
      const auto found = manifest.tensors.find(path_in(part, path));
      return found == manifest.tensors.end() ? std::nullopt
                                             : std::optional(found->second.type.dtype);
    };
    drop_new_adapters(
        model, [&](const std::string& path) { return stored(path).has_value(); }, specs);
    for (auto& [path, spec] : specs) {
      const bool is_parameter = path.starts_with(std::string(kModelPath) + "/");
      const auto dtype = is_parameter ? stored(path) : std::nullopt;
      if (dtype && is_float(*dtype) && is_float(spec.type().dtype)) spec.dtype = *dtype;
    }
    return StoredPart{with_plain_weights(model, std::move(specs), stored), part};
  };
  ModelParameters out = load(place.path, wanted_of, Weights::kTrained, report);
  for (const auto& [path, spec] : model.param_specs()) {
    const auto found = out.by_path.find(path);
    if (found != out.by_path.end() && found->second.dtype() != spec.type().dtype)
      found->second = checked_astype(found->second, spec.type().dtype,
                                     fmt::format("{}: {}", place.path.string(), path));
  }
  return out;
}

}  // namespace

LoadedModel load_model(const ModelPath& place, Weights weights, const Report& report,
                       RunData data) {
  LoadedModel out;
  const auto specs_of = [&](const ModelConfig& config) {
    check_tokenizer_files(field(config.document, "input"), place.path);
    out = build_model(config, data);
    return stored_specs(*out.model);
  };
  ModelParameters parameters = load_parameters(place, specs_of, weights, report);
  out.parameters = std::move(parameters.by_path);
  drop_frozen(*out.model, out.parameters);
  out.step = parameters.step;
  if (const fs::path kept = trained_chat_template_file(place.path); path_exists(kept))
    out.chat_template_file = kept;
  return out;
}

ModelConfig model_config(const ModelPath& place, const Report& report) {
  const fs::path& dir = place.path;
  if (is_read_in_place(place)) {
    const ReadOptions read{.ignored = place.ignored, .with_weights = false};
    return {config_document(read_foreign_model(dir, {.read = read})), dir.string()};
  }
  check_folder(dir);
  check_config_file(dir);
  const std::string source = config_file_of(dir).string();
  ModelConfig out{parse_config(read_file(source), source, dir), source};
  take_kept_tokenizers(out.document, dir, report);
  return out;
}

std::string_view stored_prefix(Weights weights) {
  return weights == Weights::kAverage ? kAveragePath : kModelPath;
}

ModelParameters load_parameters(const ModelPath& place, const SpecsOfConfig& specs_of,
                                Weights weights, const Report& report) {
  if (is_read_in_place(place)) return load_foreign(place, specs_of, weights, report);
  const fs::path& dir = place.path;
  const WantedOf wanted_of = [&](const Manifest& manifest) {
    return StoredPart{specs_of(config_of(dir, manifest, report))};
  };
  return load(dir, wanted_of, weights, report);
}

ModelParameters load_initial_parameters(const ModelPath& place, const Model& model,
                                        const Report& report) {
  ModelParameters out = initial_parameters(place, model, report);
  const int64_t num_rounded = encode_weights(model, out.by_path);
  out.num_coded += num_rounded;
  out.num_rounded += num_rounded;
  return out;
}

Tree<ParamSpec> stored_specs(const Model& model) {
  Tree<ParamSpec> out = model.param_specs();
  put_subtree(out, kLayerStatePath, model.state_specs());
  return out;
}

namespace {

const std::string kModel = "model/", kState = std::string(kLayerStatePath) + "/";

}  // namespace

std::optional<std::string> StoredPart::name_of(const std::string& stored,
                                               std::string_view prefix) const {
  const auto name_below = [&](const std::string& root) -> std::optional<std::string> {
    if (!stored.starts_with(root + part)) return std::nullopt;
    return kModel + stored.substr(root.size() + part.size());
  };
  if (!stored.starts_with(kState)) return name_below(std::string(prefix) + "/");
  const auto it = specs.lower_bound(kState);
  if (it == specs.end() || !it->first.starts_with(kState)) return std::nullopt;
  if (part.empty()) return stored;
  const auto name = name_below(kState + kModel);
  return name ? std::optional(kState + *name) : std::nullopt;
}

std::string path_in(const std::string& part, const std::string& path) {
  return kModel + part + path.substr(kModel.size());
}

bool keeps_layer_state(const Manifest& manifest, const std::string& part) {
  const std::string root = kState + (part.empty() ? "" : kModel + part);
  return std::ranges::any_of(manifest.tensors,
                             [&](const auto& tensor) { return tensor.first.starts_with(root); });
}

}  // namespace axle
