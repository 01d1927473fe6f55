#include "recipes/fine_tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "data/chat/chat_input.h"
#include "data/data_file.h"
#include "data/token_files/token_input.h"
#include "interop/model_folder.h"
#include "interop/peft_adapters.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "layers/models/beside_frozen.h"
#include "layers/products/lora_product.h"
#include "modifiers/products/product_modifiers.h"
#include "nn/init_rules.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

constexpr int64_t kMaxSeqLen = 512, kRows = 8, kSteps = 200;

template <class Role>
Child<Role> child_of(const ModelConfig& config, const nlohmann::ordered_json& document,
                     const std::string& name) {
  Child<Role> out;
  from_json(out, document, config.source + ": " + name);
  return out;
}

// Of a token file, the template is known already.
bool reads_conversations(const TokenSource& source) {
  if (!source.path.has_value() || source.field || source.unit || is_token_file(*source.path))
    return false;
  const DataKind kind = data_kind_at(*source.path);
  return kind == DataKind::kConversations || kind == DataKind::kPreferences;
}

// Adapters, and what the run of the model has trained beside them.
std::vector<std::string> trained_patterns(const ModelConfig& config, const Model& model) {
  using Json = nlohmann::ordered_json;
  std::vector<std::string> out = {"**.lora_down", "**.lora_up"};
  const Json learner = config.document.value("learner", Json());
  const auto list = [&](const char* field) {
    const Json found = learner.is_object() ? learner.value(field, Json()) : Json();
    return found.is_array() ? found : Json::array();
  };
  const Json frozen = list("frozen");
  if (std::ranges::count(frozen, Json("**")) == 0) return out;
  const Tree<ParamSpec> params = model.param_specs();
  for (const Json& pattern : list("trained")) {
    const auto matches = [&](const auto& param) {
      return matches_path(pattern.get<std::string>(), param.first);
    };
    if (!pattern.is_string() || std::ranges::count(out, pattern.get<std::string>()) > 0) continue;
    if (std::ranges::any_of(params, matches)) out.push_back(pattern.get<std::string>());
  }
  return out;
}

}  // namespace

Trainer::Config fine_tune(const ModelPath& place, FineTuned trained,
                          const std::optional<DType>& dtype) {
  const ModelConfig config = model_config(place);
  Child<Model> model =
      trained_part(child_of<Model>(config, config.document.at("model"), "model")).config;
  Child<Tokenizer> tokenizer;
  const nlohmann::ordered_json& input = config.document.at("input");
  if (input.contains("tokenizer") && input["tokenizer"].is_object())
    tokenizer = child_of<Tokenizer>(config, input["tokenizer"], "input.tokenizer");
  const auto built = model.build({}, Scope{.path = "model"});
  const bool has_adapters = !adapter_paths(*built).empty();
  if (has_adapters) trained = FineTuned::kAdapters;
  const auto context = built->max_seq_len().value_or(kMaxSeqLen);
  const int64_t seq_len = std::min(context, kMaxSeqLen);
  LanguageModel numbers{
      .learner = {.peak_lr = trained == FineTuned::kAll ? 2e-5 : 2e-4,
                  .warmup_steps = 10,
                  .max_step = kSteps,
                  .weight_decay = 0},
      .tokens_per_batch = kRows * seq_len,
      .seq_len = seq_len,
      .tokenizer = std::move(tokenizer),
      .save_every_steps = kSteps,
      .mesh = one_axis("fsdp"),
      .mesh_rules = {cpu_rule()},
  };
  if (has_adapters) {
    numbers.learner.frozen = {"**"};
    numbers.learner.trained = trained_patterns(config, *built);
  }
  Trainer::Config out = language_model(numbers);
  if (dtype) model.options.dtype = *dtype;
  const auto stored = model.options.dtype;
  out.model = std::move(model);
  if (!stored || *stored == DType::kF32) {
    out.compute_dtype = {};
  } else if (trained == FineTuned::kAll && !dtype) {
    out.model.options.dtype = {};
  } else if (trained == FineTuned::kAdapters) {
    auto& rules = out.model.options.dtypes;
    rules.insert(rules.begin(), {.pattern = "**.lora_*", .dtype = DType::kF32});
  }
  out.evalers.at("held_out").every_steps = {};
  return out;
}

std::string fine_tuned_name(const std::filesystem::path& model) {
  return "fine-tuned-" + std::filesystem::absolute(model).filename().string();
}

void take_chat_template(const std::filesystem::path& model, Trainer::Config& config) {
  const std::filesystem::path kept = trained_chat_template_file(model);
  if (!path_exists(kept)) return;
  const auto take = [&](std::optional<std::string>& field) {
    if (!field) field = text_of_path(std::filesystem::absolute(kept).string());
  };
  for_each_config<ChatInput>(
      config, [&](const std::string&, ChatInput::Config& input) { take(input.chat_template); });
  for_each_config<PreferenceInput>(config, [&](const std::string&, PreferenceInput::Config& input) {
    take(input.chat_template);
  });
  for_each_config<TokenInput>(config, [&](const std::string&, TokenInput::Config& input) {
    for (auto& [name, source] : input.sources)
      if (reads_conversations(source)) take(source.chat_template);
  });
}

namespace {

template <class Modifier>
bool differs(const FlagRequest<Modifier>& wanted, std::string_view name, double has, double asked) {
  return has != asked && std::ranges::count(wanted.given, name) > 0;
}

}  // namespace

void check_adapters(Trainer::Config& start, const std::string& folder,
                    const FlagRequest<Lora>& wanted) {
  const Lora::Config& fields = wanted.fields;
  const bool is_by_root = is_scaled_by_root(folder);
  for (const ProductSlot& product : product_slots(start)) {
    const auto* const own = held_config(product.slot)->get_if<LoraProduct::Config>();
    if (!own || !matches_layer(fields.at, product) || matches_layer(fields.except, product))
      continue;
    const auto check = [&](std::string_view name, double has, double asked) {
      if (!differs(wanted, name, has, asked)) return;
      throw ConfigError(fmt::format(
          "{}: {}: expected {}, as the adapters of {} have it ({}), got {}; leave it out to train "
          "them on, or axle checkpoint merge {} --dir NEW and begin with NEW",
          wanted.flag, name, has, folder, product.path, asked, folder));
    };
    const auto rank = static_cast<double>(int64_t{own->rank});
    check("rank", rank, static_cast<double>(int64_t{fields.rank}));
    // Rounded to the digits of the alpha there, since the root of the rank is not exact.
    const double stated = std::round(own->alpha / std::sqrt(rank) * 1e9) / 1e9;
    check("alpha", is_by_root ? stated : double{own->alpha}, fields.alpha);
    if (const auto* const dropout = own->dropout.get_if<Dropout>())
      check("dropout", dropout->rate, fields.dropout);
  }
}

void check_dtype(const Trainer::Config& run, const std::string& folder, DType wanted) {
  const DType own = trained_part(run.model).config.options.dtype.value_or(DType::kF32);
  if (own == wanted) return;
  throw ConfigError(fmt::format(
      "--dtype: expected {}, as the run in {} has it, got {}; leave it out, or use another --dir",
      to_text(own), folder, to_text(wanted)));
}

void check_preference(const Trainer::Config& run, const std::string& folder,
                      const FlagRequest<PreferenceTuning>& wanted) {
  const auto* const own = run.model.get_if<PreferenceLM>();
  if (!own) return;
  const auto check = [&](std::string_view name, double has, double asked) {
    if (!differs(wanted, name, has, asked)) return;
    throw ConfigError(
        fmt::format("{}: {}: expected {}, as the run in {} has it, got {}; leave it "
                    "out, or use another --dir",
                    wanted.flag, name, has, folder, asked));
  };
  check("beta", own->beta, wanted.fields.beta);
  check("label_smoothing", own->label_smoothing, wanted.fields.label_smoothing);
}

}  // namespace axle
