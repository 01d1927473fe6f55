#include "interop/merge_adapters.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text_table.h"
#include "config/serialize.h"
#include "interop/export/model_to_export.h"
#include "interop/foreign_model.h"
#include "interop/hugging_face.h"
#include "interop/model_folder.h"
#include "interop/save_model.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "layers/models/beside_frozen.h"
#include "layers/products/lora_product.h"
#include "modifiers/products/lora.h"
#include "nn/param.h"

namespace axle {

std::string to_text(const MergeReport& report) {
  return fmt::format("{}: {} merged into the weights of step {}\n", report.dir.string(),
                     counted(report.num_adapters, "adapter"), report.step);
}

MergeReport merge_adapters(const std::filesystem::path& from, const std::filesystem::path& to,
                           Weights weights, const Report& report) {
  check_new_model(to, {});
  LoadedModel model = load_model(from, weights, report, RunData::kAny);
  take_trained_part(model);
  MergeReport out{.dir = to, .step = model.step};
  decode_weights(model);
  Child<Model> config = model.config;
  out.num_adapters = static_cast<int64_t>(remove_adapters(config).size());
  if (out.num_adapters == 0) {
    throw ConfigError(fmt::format(
        "{}: expected a model with adapters (LoraProduct), got one without", from.string()));
  }
  if (!model.context_len) {
    throw ConfigError(
        fmt::format("{}: expected a model whose config sets max_seq_len or "
                    "input.seq_len, got neither",
                    from.string()));
  }
  Child<Input> input;  // evaluations read its fields, seq_len among them
  config_error_in(from.string(), [&] { from_json(input, model.input, "input"); });
  std::map<std::string, std::string> files;
  if (const auto& kept = model.chat_template_file; !kept.empty())
    files[kept.filename().string()] = read_file(kept);
  if (std::string config = origin_config(from); !config.empty())
    files[std::string(kHuggingFaceConfig)] = std::move(config);
  const std::string prefix(stored_prefix(Weights::kTrained));
  const Tree<HostTensor> merged = merged_adapters(*model.model, std::move(model.parameters));
  save_model(to, {.model = std::move(config),
                  .tokenizer = model.tokenizer_config,
                  .parameters = subtree(merged, prefix),
                  .layer_state = subtree(merged, kLayerStatePath),
                  .context_len = *model.context_len,
                  .input = std::move(input),
                  .step = model.step,
                  .compute_dtype = model.compute_dtype,
                  .streams = model.streams.streams,
                  .files = std::move(files)});
  if (model.tokenizer_config)
    keep_tokenizers({{"input", {{"tokenizer", to_json(model.tokenizer_config)}}}}, to);
  return out;
}

TrainedPart trained_part(Child<Model> config, const Model* built) {
  TrainedPart out{.config = std::move(config)};
  for (;;) {
    std::unique_ptr<Model> own;
    if (!built) own = out.config.build({}, Scope{.path = "model"});
    const auto* const both = dynamic_cast<const BesideFrozen*>(built ? built : own.get());
    built = nullptr;
    if (!both) return out;
    Child<Model> trained;
    from_json(trained, to_json(out.config).at(both->trained_part()));
    out.config = std::move(trained);
    out.path += both->trained_part() + "/";
  }
}

}  // namespace axle
