#include "interop/export/model_to_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text/json.h"
#include "config/serialize.h"
#include "interop/families/family.h"
#include "interop/foreign_model.h"
#include "interop/forms/change_form.h"
#include "interop/hugging_face.h"
#include "interop/peft_adapters.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "layers/models/causal_lm.h"
#include "layers/models/multi_token_lm.h"
#include "layers/products/lora_product.h"
#include "learn/learner.h"
#include "modifiers/products/product_modifiers.h"
#include "nn/init_rules.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The config of the model of another program that RUN is or comes from; null if there is none.
Json original_config(const fs::path& run) {
  const std::string text = origin_config(run);
  if (text.empty()) return nullptr;
  return json_as<DataError>((run / kHuggingFaceConfig).string(), [&] { return read_json(text); });
}

// The family of a config, if models of it can be written.
std::string written_family(const Json& config) {
  const std::string name = config.value("model_type", "");
  const auto found = families().find(name);
  return found != families().end() && found->second.fields ? name : "";
}

// Of the parameters, and not of the state of layers.
DType common_dtype(const Tree<HostTensor>& tensors) {
  std::set<DType> dtypes;
  for (const auto& [path, value] : tensors)
    if (path.starts_with("model/")) dtypes.insert(value.dtype());
  return dtypes.size() == 1 ? *dtypes.begin() : DType::kF32;
}

// Sums of weights and adapters have the dtype of the weight. In f32 they are rounded once, to that
// of the file.
void widen_others(DType dtype, Tree<HostTensor>& parameters) {
  for (auto& [path, value] : parameters) {
    if (is_float(value.dtype()) && value.dtype() != dtype)
      value = value.astype(wide_dtype(value.dtype()));
  }
}

// The name of a dtype there.
std::string torch_name(DType dtype) {
  if (dtype == DType::kBF16) return "bfloat16";
  if (dtype == DType::kF16) return "float16";
  return dtype == DType::kF64 ? "float64" : "float32";
}

// A family needs the longest sequence, which a decoder may leave to its input.
void set_max_seq_len(Child<Model>& model, std::optional<int64_t> context_len) {
  auto* const lm = model.get_if<CausalLM>();
  auto* const decoder = lm ? lm->decoder.get_if<Decoder>() : nullptr;
  if (decoder && !decoder->max_seq_len && context_len) decoder->max_seq_len = *context_len;
}

// True for an id of the vocabulary, or a list of them.
bool is_special_id(const Json& value, int64_t vocab_size) {
  if (value.is_array()) {
    return std::ranges::all_of(value,
                               [&](const Json& id) { return is_special_id(id, vocab_size); });
  }
  return value.is_number_unsigned() && value.get<uint64_t>() < static_cast<uint64_t>(vocab_size);
}

// The id of a token that the tokenizer's files name ("bos_token"), also one that no text begins
// with.
std::optional<int32_t> named_id(const Tokenizer& tokenizer, std::string_view name,
                                int64_t vocab_size) {
  for (const auto& [own, text] : tokenizer.chat_settings().special_tokens) {
    if (own != name) continue;
    const std::vector<int32_t> ids = tokenizer.encode_with_special(text);
    if (ids.size() == 1 && ids[0] < vocab_size && tokenizer.token(ids[0]) == text) return ids[0];
  }
  return std::nullopt;
}

// Special ids are the tokenizer's, else the ids of the model's origin, unless the vocabulary
// does not have them, else the ids of tokens that the tokenizer's files name.
void write_special_ids(Json& fields, const Tokenizer* tokenizer, const Json& original) {
  const SpecialIds ids = tokenizer ? tokenizer->special_ids() : SpecialIds{};
  const auto vocab_size = fields["vocab_size"].get<int64_t>();
  const auto write = [&](const char* key, const char* name, const std::optional<int32_t>& id) {
    fields[key] = nullptr;
    if (id && *id < vocab_size) {
      fields[key] = *id;
    } else if (original.is_object() && original.contains(key)) {
      if (is_special_id(original[key], vocab_size)) fields[key] = original[key];
    } else if (tokenizer) {
      if (const auto named = named_id(*tokenizer, name, vocab_size)) fields[key] = *named;
    }
  };
  write("bos_token_id", "bos_token", ids.bos);
  write("eos_token_id", "eos_token", ids.eos);
  write("pad_token_id", "pad_token", ids.pad);
}

// Training may have changed the model so that the family of its origin can't describe it any more.
FamilyConfig described_as(const Child<Model>& model, const std::string& wanted,
                          const std::string& origin, const std::string& where,
                          const Report& report) {
  if (!wanted.empty() || origin.empty()) return described(model, wanted, where);
  try {
    return described(model, origin, where);
  } catch (const ConfigError& error) {
    FamilyConfig other = described(model, "", where);
    report(fmt::format("WARNING: {}; it becomes a {}", error.what(), other.family->model_type));
    return other;
  }
}

std::string new_chat_template(const LoadedModel& loaded) {
  if (!loaded.tokenizer) return {};
  const auto trained = trained_chat_template(loaded);
  const bool is_new =
      trained && trained->source() != loaded.tokenizer->chat_settings().chat_template;
  return is_new ? trained->source() : "";
}

}  // namespace

ModelToExport model_to_export(const ExportOptions& options, Adapted adapted, const Report& report) {
  const Json original = original_config(options.run);
  const std::string origin = original.is_object() ? written_family(original) : "";
  LoadedModel loaded =
      load_model({options.run, options.ignored}, options.weights, report, RunData::kAny);
  const std::string where = options.run.string();
  std::set<std::string> trained;
  if (adapted == Adapted::kKept) trained = also_trained(loaded, where);
  take_decoding_part(loaded, where, report);
  decode_weights(loaded);
  Child<Model> plain = loaded.config;
  const size_t num_adapters = remove_adapters(plain).size();
  set_max_seq_len(plain, loaded.context_len);
  FamilyConfig described = described_as(plain, options.family, origin, where, report);
  Child<Model> config = std::move(plain), form = described.model;
  if (num_adapters > 0 && adapted == Adapted::kKept) {
    config = loaded.config;
    form = with_adapters(std::move(form), plain_model(config), where);
  } else if (num_adapters > 0) {
    if (options.dtype) widen_others(*options.dtype, loaded.parameters);
    loaded.parameters = merged_adapters(*loaded.model, std::move(loaded.parameters));
  }
  const DType dtype = options.dtype.value_or(common_dtype(loaded.parameters));
  Tree<HostTensor> parameters;
  for (const std::string& root : {std::string("model/"), std::string(kLayerStatePath) + "/model/"})
    for (auto& [path, value] : loaded.parameters)
      if (path.starts_with(root)) parameters.emplace(path.substr(root.size()), std::move(value));
  loaded.parameters.clear();
  const ForeignConfig fields(Json::parse(described.fields.dump()), where);
  const std::vector<WeightRow> rows = described.family->weights(fields);
  const auto stored = [&](const Child<Model>& model) {
    return stored_tensors(*model.build({}, Scope{.path = "model"}), rows);
  };
  trained = paths_in_form(config, parameters, form, stored(form), trained);
  parameters = in_form(config, std::move(parameters), form, stored(form));
  described.fields["torch_dtype"] = torch_name(dtype);
  write_special_ids(described.fields, loaded.tokenizer.get(), original);
  WeightMap weights(rows, stored(described.model));
  std::string chat_template = new_chat_template(loaded);
  return {.described = std::move(described),
          .model = std::move(form),
          .parameters = std::move(parameters),
          .weights = std::move(weights),
          .dtype = dtype,
          .tokenizer_config = std::move(loaded.tokenizer_config),
          .tokenizer = std::move(loaded.tokenizer),
          .chat_template = std::move(chat_template),
          .num_adapters = static_cast<int64_t>(num_adapters),
          .also_trained = std::move(trained),
          .step = loaded.step};
}

namespace {

Tree<ParamSpec> matching(Tree<ParamSpec> params, const std::vector<std::string>& patterns) {
  std::erase_if(params, [&](const auto& param) {
    return std::ranges::none_of(
        patterns, [&](const std::string& pattern) { return matches_path(pattern, param.first); });
  });
  return params;
}

}  // namespace

std::set<std::string> also_trained(const LoadedModel& run, const std::string& where) {
  constexpr int64_t kAnySteps = int64_t{1} << 30;  // schedules may end with the run
  if (!run.learner.is_object()) return {};
  const Tree<ParamSpec> params = run.model->param_specs();
  // An import of adapters only says what is to be trained (save_model.h).
  const bool is_run = run.learner.contains("optimizer");
  const auto trained = config_error_in(where, [&] {
    Child<Learner> config = Learner::Config{};
    from_json(config, run.learner, "learner");
    if (is_run)
      return config.build({.params = params, .run_steps = kAnySteps}, Scope{.path = "learner"})
          ->trained();
    return matching(params, config.get_if<Learner>()->trained);
  });
  const std::string root = "model/" + trained_part(run.config, run.model.get()).path;
  std::set<std::string> out;
  for (const auto& [path, spec] : trained)
    if (path.starts_with(root)) out.insert(path.substr(root.size()));
  for (const std::string& path : adapter_paths(*run.model)) {
    if (path.starts_with(root)) out.erase(path.substr(root.size()));
  }
  return out;
}

namespace {

// Makes `config` the model, whose parameters and state lie in `part` of the whole one.
void replace(LoadedModel& loaded, Child<Model> config, const std::string& part) {
  Tree<HostTensor> tensors;
  for (const std::string& root :
       {std::string("model/"), std::string(kLayerStatePath) + "/model/"}) {
    for (auto& [path, value] : loaded.parameters) {
      if (path.starts_with(root + part))
        tensors.emplace(root + path.substr(root.size() + part.size()), std::move(value));
    }
  }
  loaded.parameters = std::move(tensors);
  loaded.config = std::move(config);
  loaded.model = loaded.config.build({}, Scope{.path = "model"});
}

}  // namespace

void take_trained_part(LoadedModel& loaded) {
  if (TrainedPart part = trained_part(loaded.config, loaded.model.get()); !part.path.empty())
    replace(loaded, std::move(part.config), part.path);
}

void take_decoding_part(LoadedModel& loaded, const std::string& where, const Report& report) {
  take_trained_part(loaded);
  if (const auto* const heads = loaded.config.get_if<MultiTokenLM>()) {
    report(fmt::format("{}: the heads of MultiTokenLM for further tokens are left out", where));
    std::erase_if(loaded.parameters, [](const auto& tensor) {
      return tensor.first.find("model/decoder/") == tensor.first.npos;
    });
    replace(loaded, CausalLM::Config{.decoder = heads->decoder}, "");
  }
}

}  // namespace axle
