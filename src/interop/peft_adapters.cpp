#include "interop/peft_adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "interop/export/model_to_export.h"
#include "interop/foreign_model.h"
#include "interop/hugging_face.h"
#include "interop/model_folder.h"
#include "interop/save_model.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "ir/host_tensor.h"
#include "layers/models/beside_frozen.h"
#include "layers/products/lora_product.h"
#include "modifiers/products/product_modifiers.h"
#include "nn/param.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLayer = "{layer}", kExpert = "{expert}", kWeight = ".weight",
                           kDown = ".lora_A.weight", kUp = ".lora_B.weight";

// The two matrices of a module: [rank, inputs] and [outputs, rank].
struct Adapter {
  std::optional<HostTensor> down, up;
};

std::map<std::string, Adapter> adapters_in(const fs::path& file) {
  std::map<std::string, Adapter> out;
  const SafetensorsFile stored(file);
  for (const std::string& name : stored.names()) {
    if (name.starts_with(kPeftPrefix) && !is_peft_adapter(name)) continue;  // a module kept whole
    const HostTensor value = stored.get(name);
    const bool is_down = name.ends_with(kDown), is_up = name.ends_with(kUp);
    if (!name.starts_with(kPeftPrefix) || (!is_down && !is_up) || value.shape().size() != 2 ||
        !is_float(value.dtype())) {
      throw DataError(fmt::format("{}: {}: expected matrices {}<module>{} and {}, got {}",
                                  file.string(), name, kPeftPrefix, kDown, kUp,
                                  to_text(value.type())));
    }
    if (!all_finite(value)) {
      throw DataError(
          fmt::format("{}: {}: expected finite numbers, got NaN or infinity", file.string(), name));
    }
    const size_t end = name.size() - (is_down ? kDown : kUp).size();
    Adapter& adapter = out[name.substr(kPeftPrefix.size(), end - kPeftPrefix.size())];
    (is_down ? adapter.down : adapter.up) =
        checked_astype(value, DType::kF32, fmt::format("{}: {}", file.string(), name));
  }
  for (const auto& [module, adapter] : out) {
    if (!adapter.down || !adapter.up || adapter.down->shape()[0] != adapter.up->shape()[1] ||
        adapter.down->shape()[0] == 0) {
      throw DataError(
          fmt::format("{}: {}: expected lora_A [rank, inputs] and lora_B [outputs, "
                      "rank], got {} and {}",
                      file.string(), module, adapter.down ? to_text(adapter.down->shape()) : "none",
                      adapter.up ? to_text(adapter.up->shape()) : "none"));
    }
  }
  return out;
}

// A projection of the model: the modules that hold it, one for each stacked layer, and which
// outputs of them are its own.
struct AdaptedProjection {
  std::string path;  // "decoder/layers/layer/attention/body/output"
  std::vector<std::string> modules;
  int64_t first_output = 0, num_outputs = 0;
};

// All projections that may have adapters.
class Projections {
 public:
  Projections(const std::vector<WeightRow>& rows, const Tree<ParamSpec>& specs) {
    for (const WeightRow& row : rows) {
      const auto spec = specs.find(row.ours);
      const std::string_view ours = row.ours;
      if (spec == specs.end() || !row.theirs.ends_with(kWeight) || !ours.ends_with("/weight") ||
          row.theirs.find(kExpert) != row.theirs.npos)
        continue;
      add(row, spec->second.shape);
    }
  }
  const std::vector<AdaptedProjection>& all() const { return all_; }
  // Whether its module holds other projections as well.
  bool is_shared(const AdaptedProjection& projection) const {
    return outputs_.at(projection.modules.front()) > projection.num_outputs;
  }

 private:
  void add(const WeightRow& row, Shape shape) {
    AdaptedProjection out{.path = row.ours.substr(0, row.ours.rfind('/')), .modules = {}};
    const std::string name = row.theirs.substr(0, row.theirs.size() - kWeight.size());
    const size_t at = name.find(kLayer);
    const int64_t count = at == name.npos ? 1 : shape.front();
    if (at != name.npos) shape.erase(shape.begin());
    for (int64_t layer = 0; layer < count; ++layer) {
      std::string own = name;
      if (at != name.npos)
        own.replace(at, kLayer.size(), std::to_string(row.first_layer + layer * row.layer_stride));
      out.modules.push_back(own);
    }
    if (shape.size() < 2) return;  // a scale
    // Projections that share a module have [inputs, outputs...].
    out.num_outputs = num_elements(shape) / std::max<int64_t>(shape.front(), 1);
    out.first_output = outputs_[out.modules.front()];
    outputs_[out.modules.front()] += out.num_outputs;
    all_.push_back(std::move(out));
  }

  std::vector<AdaptedProjection> all_;
  std::map<std::string, int64_t> outputs_;  // of a module, by all projections in it
};

// The adapters of a projection, if all of its layers have them.
std::vector<const Adapter*> adapters_of(const AdaptedProjection& projection,
                                        const std::map<std::string, Adapter>& adapters,
                                        const std::string& where) {
  std::vector<const Adapter*> out;
  std::string without;
  for (const std::string& module : projection.modules) {
    const auto found = adapters.find(module);
    if (found != adapters.end())
      out.push_back(&found->second);
    else
      without = module;
  }
  const auto rank_of = [](const Adapter* adapter) { return adapter->down->shape()[0]; };
  if (out.empty()) return out;
  if (!without.empty()) {
    throw DataError(
        fmt::format("{}: expected adapters of all layers that are stacked, got none of "
                    "{}",
                    where, without));
  }
  for (const Adapter* adapter : out) {
    if (rank_of(adapter) == rank_of(out.front())) continue;
    throw DataError(fmt::format("{}: {}: expected one rank for all layers, got {} and {}", where,
                                projection.modules.front(), rank_of(out.front()),
                                rank_of(adapter)));
  }
  return out;
}

// Puts an adapter into the slot of a projection's product. Projections of one config share a slot.
void put_adapter(Child<Model>& model, const std::string& slot_path,
                 const LoraProduct::Config& adapter, const std::string& where) {
  for (const ProductSlot& product : product_slots(model)) {
    if (product.path != slot_path) continue;
    AnyConfig& held = *held_config(product.slot);
    if (const auto* const other = held.get_if<LoraProduct::Config>()) {
      if (other->rank == adapter.rank && other->alpha == adapter.alpha) return;
      throw DataError(fmt::format(
          "{}: {}: expected one rank and one lora_alpha for all layers of a pattern, got others",
          where, slot_path));
    }
    LoraProduct::Config own = adapter;
    own.inner.put(held);
    return put_config(product.slot, AnyConfig::of(std::move(own)));
  }
  throw DataError(
      fmt::format("{}: {}: expected a projection that takes an adapter, got another "
                  "one",
                  where, slot_path));
}

// The config path of the product of each projection, below the model, by the path of the layer.
std::map<std::string, std::string> product_paths(const Model& model) {
  std::map<std::string, std::string> out;
  const std::string root = "model/", config_root = "model.", product = "/product";
  model.visit([&](const Layer& layer) {
    if (!dynamic_cast<const Product*>(&layer) || !layer.path().ends_with(product)) return;
    out[layer.path().substr(root.size(), layer.path().size() - root.size() - product.size())] =
        layer.config_path().substr(config_root.size());
  });
  return out;
}

// Copies [rows, columns] transposed, from the first of them on.
void copy_transposed(const HostTensor& from, int64_t first_row, int64_t num_rows, float* to) {
  const int64_t columns = from.shape()[1];
  for (int64_t r = 0; r < num_rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      to[c * num_rows + r] = from.values<float>()[(first_row + r) * columns + c];
}

// Fills both parameters of a projection's adapter; the matrices of its layers lie one by one.
void fill(const AdaptedProjection& projection, const std::vector<const Adapter*>& adapters,
          bool is_shared, const Tree<ParamSpec>& specs, Tree<HostTensor>& parameters,
          const std::string& where) {
  HostTensor down(Type{DType::kF32, specs.at(projection.path + "/product/lora_down").shape}),
      up(Type{DType::kF32, specs.at(projection.path + "/product/lora_up").shape});
  const auto count = std::ssize(adapters), rank = adapters.front()->down->shape()[0],
             inputs = down.size() / count / rank, outputs = up.size() / count / rank;
  const int64_t first = is_shared ? projection.first_output : 0;
  for (int64_t i = 0; i < count; ++i) {
    const Adapter& adapter = *adapters[i];
    const int64_t given_inputs = adapter.down->shape()[1], given = adapter.up->shape()[0];
    if (given_inputs != inputs || (is_shared ? given < first + outputs : given != outputs)) {
      throw DataError(
          fmt::format("{}: {}: expected adapters of {} inputs and {} outputs, got {} "
                      "and {}",
                      where, projection.modules[i], inputs, first + outputs, given_inputs, given));
    }
    copy_transposed(*adapter.down, 0, rank, down.values<float>().data() + i * rank * inputs);
    copy_transposed(*adapter.up, first, outputs, up.values<float>().data() + i * rank * outputs);
  }
  parameters.emplace(projection.path + "/product/lora_down", std::move(down));
  parameters.emplace(projection.path + "/product/lora_up", std::move(up));
}

LoraProduct::Config lora_of(const AdaptedProjection& projection, const Adapter& adapter,
                            const PeftScaling& scaling) {
  const int64_t rank = adapter.down->shape()[0];
  const double alpha = scaling.alpha_of(projection.modules.front(), rank);
  for (const std::string& module : projection.modules) {
    if (scaling.alpha_of(module, rank) != alpha)
      scaling.fail("alpha_pattern", "one lora_alpha for all layers that are stacked");
  }
  return {.rank = rank, .alpha = alpha, .dropout = Dropout::Config{.rate = scaling.dropout()}};
}

// A projection with the adapters of its layers.
struct ProjectionAdapters {
  const AdaptedProjection* projection;
  std::vector<const Adapter*> adapters;
};

void check_all_taken(const std::map<std::string, Adapter>& adapters,
                     const std::vector<ProjectionAdapters>& adapted, const std::string& where) {
  std::set<std::string> taken;
  for (const auto& [projection, own] : adapted)
    taken.insert(projection->modules.begin(), projection->modules.end());
  std::vector<std::string> unknown;
  for (const auto& [module, adapter] : adapters)
    if (!taken.contains(module)) unknown.push_back(module);
  if (!unknown.empty()) {
    constexpr size_t kMost = 3;
    const size_t rest = unknown.size() - std::min(unknown.size(), kMost);
    unknown.resize(unknown.size() - rest);
    throw DataError(fmt::format(
        "{}: expected adapters of projections of the base, got some of {}{}", where,
        join(unknown, ", "),
        rest == 0 ? "" : fmt::format(" and {} more; do they belong to another model?", rest)));
  }
  if (adapted.empty()) throw DataError(where + ": expected adapters, got none");
}

}  // namespace

bool is_peft_folder(const fs::path& path) {
  return path_exists(path / kPeftConfig) && !path_exists(path / "config.json");
}

bool is_scaled_by_root(const fs::path& path) {
  return is_peft_folder(path) && read_peft_config(path).fields.flag("use_rslora", false);
}

fs::path peft_base(const fs::path& folder) {
  if (path_exists(folder / "base")) return folder / "base";
  const std::string name = read_peft_config(folder).fields.text("base_model_name_or_path", "");
  if (!name.empty()) {
    const fs::path path = path_of_text(name);
    for (const fs::path& at : {folder / path, path})
      if (path_exists(at)) return at;
  }
  throw ConfigError(fmt::format(
      "{}: base_model_name_or_path: expected the path of the model that the adapters belong to, "
      "got {}; link it to {}",
      (folder / kPeftConfig).string(), name.empty() ? "none" : "'" + printable(name) + "'",
      (folder / "base").string()));
}

ImportedModel with_peft_adapters(ImportedModel base, const fs::path& folder,
                                 const ReadOptions& options) {
  const std::string where = (folder / kPeftTensors).string();
  const PeftScaling scaling(read_peft_config(folder), options.ignored);
  const std::map<std::string, Adapter> adapters = adapters_in(folder / kPeftTensors);
  const auto plain = base.model.build({}, Scope{.path = "model"});
  const Projections projections(base.rows, subtree(plain->param_specs(), "model"));
  const std::map<std::string, std::string> slots = product_paths(*plain);
  std::vector<ProjectionAdapters> adapted;
  for (const AdaptedProjection& projection : projections.all()) {
    std::vector<const Adapter*> own = adapters_of(projection, adapters, where);
    if (own.empty()) continue;
    const auto slot = slots.find(projection.path);
    put_adapter(base.model, slot == slots.end() ? projection.path : slot->second,
                lora_of(projection, *own.front(), scaling), where);
    adapted.push_back({&projection, std::move(own)});
  }
  check_all_taken(adapters, adapted, where);
  if (base.model.options.dtype)
    base.model.options.dtypes.push_back({.pattern = "**.lora_*", .dtype = DType::kF32});
  if (!options.with_weights) return base;
  const Tree<ParamSpec> specs =
      subtree(base.model.build({}, Scope{.path = "model"})->param_specs(), "model");
  for (const auto& [projection, own] : adapted)
    fill(*projection, own, projections.is_shared(*projection), specs, base.parameters, where);
  return base;
}

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
