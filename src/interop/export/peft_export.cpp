#include "interop/export/peft_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "base/text/text_table.h"
#include "interop/peft_adapters.h"
#include "interop/save_model.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "ir/host_tensor.h"
#include "layers/products/lora_product.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::string kRoot = "base_model.model.";

// An adapter, by the weight that it belongs to.
struct Adapter {
  std::string down, up;
  double scale = 1;
};

std::map<std::string, Adapter> adapters_of(const Model& model) {
  std::map<std::string, Adapter> out;
  const std::string root = "model/", product = "product/lora_down";
  model.visit([&](const Layer& layer) {
    const auto* const lora = dynamic_cast<const LoraProduct*>(&layer);
    if (!lora) return;
    const std::string down = lora->own_paths()[0].substr(root.size()),
                      up = lora->own_paths()[1].substr(root.size());
    out[down.substr(0, down.size() - product.size()) + "weight"] = {down, up, lora->scale()};
  });
  return out;
}

// A projection that is a part of a module there; without an adapter it has outputs alone.
struct Part {
  int64_t outputs = 0, rank = 0, slice = 0, count = 1;
  const Adapter* adapter = nullptr;
};

class Adapters {
 public:
  Adapters(const std::map<std::string, Adapter>& adapters, const std::vector<WeightRow>& rows,
           const Tree<HostTensor>& parameters, const std::string& where)
      : parameters_(parameters) {
    std::set<std::string> written;
    for (const WeightRow& row : rows) {
      const auto weight = parameters.find(row.ours);
      if (weight == parameters.end() || !row.theirs.ends_with(kWeight)) continue;
      const auto found = adapters.find(row.ours);
      const Adapter* const adapter = found == adapters.end() ? nullptr : &found->second;
      if (adapter && row.theirs.find("{expert}") != row.theirs.npos) {
        throw ConfigError(fmt::format(
            "{}: expected adapters that peft knows, got some of experts; merge them (--format hf)",
            where));
      }
      add(row, adapter);
      if (adapter) written.insert(row.ours);
    }
    for (const auto& [weight, adapter] : adapters) {
      if (written.contains(weight)) continue;
      throw ConfigError(fmt::format(
          "{}: expected adapters of modules that the family has, got one of {}; merge them "
          "(--format hf)",
          where, adapter.down));
    }
    std::erase_if(modules_, [](const auto& module) {
      return std::ranges::none_of(module.second, [](const Part& part) { return part.adapter; });
    });
  }

  const std::map<std::string, std::vector<Part>>& modules() const { return modules_; }
  static int64_t rank(const std::vector<Part>& parts) {
    int64_t out = 0;
    for (const Part& part : parts) out += part.rank;
    return out;
  }
  // One factor for all parts: other factors go into B.
  static double scale(const std::vector<Part>& parts) {
    for (const Part& part : parts)
      if (part.adapter) return part.adapter->scale;
    return 1;
  }

  Tree<HostTensor> tensors() const {
    Tree<HostTensor> out;
    for (const auto& [name, parts] : modules_) {
      out.emplace(kRoot + name + ".lora_A.weight", down(parts));
      out.emplace(kRoot + name + ".lora_B.weight", up(parts));
    }
    return out;
  }

 private:
  static constexpr std::string_view kWeight = ".weight", kLayer = "{layer}";

  void add(const WeightRow& row, const Adapter* adapter) {
    std::string name = row.theirs.substr(0, row.theirs.size() - kWeight.size());
    const size_t at = name.find(kLayer);
    const Shape& shape = parameters_.at(row.ours).shape();
    const int64_t count = at == name.npos ? 1 : shape.front();
    for (int64_t layer = 0; layer < count; ++layer) {
      std::string own = name;
      if (at != name.npos) {
        own.replace(at, kLayer.size(), std::to_string(row.first_layer + layer * row.layer_stride));
      }
      Part part{.slice = layer, .count = count, .adapter = adapter};
      if (adapter) {
        part.rank = parameters_.at(adapter->down).shape().back();
        part.outputs = parameters_.at(adapter->up).size() / count / part.rank;
      } else {  // counts only beside others, whose inputs are the first dim
        const size_t first = at == name.npos ? 0 : 1;
        part.outputs = parameters_.at(row.ours).size() / count / shape.at(first);
      }
      modules_[own].push_back(part);
    }
  }

  std::span<const float> slice(const HostTensor& all, const Part& part) const {
    const auto size = static_cast<size_t>(all.size() / part.count);
    return all.values<float>().subspan(static_cast<size_t>(part.slice) * size, size);
  }

  // A: [ranks of all parts, inputs], from [inputs, rank] of each.
  HostTensor down(const std::vector<Part>& parts) const {
    std::vector<float> out;
    for (const Part& part : parts) {
      if (!part.adapter) continue;
      const HostTensor all = parameters_.at(part.adapter->down).astype(DType::kF32);
      const auto from = slice(all, part);
      const auto rank = static_cast<size_t>(part.rank), inputs = from.size() / rank;
      for (size_t r = 0; r < rank; ++r)
        for (size_t i = 0; i < inputs; ++i) out.push_back(from[i * rank + r]);
    }
    const int64_t all_ranks = rank(parts);
    return {{all_ranks, std::ssize(out) / all_ranks}, std::span<const float>(out)};
  }
  // B: [outputs of all parts, ranks of all parts], from [rank, outputs] of each.
  HostTensor up(const std::vector<Part>& parts) const {
    int64_t outputs = 0;
    for (const Part& part : parts) outputs += part.outputs;
    const int64_t all_ranks = rank(parts);
    HostTensor out(Type{DType::kF32, {outputs, all_ranks}});
    int64_t first_output = 0, first_rank = 0;
    for (const Part& part : parts) {
      if (part.adapter) {
        const HostTensor all = parameters_.at(part.adapter->up).astype(DType::kF32);
        const auto from = slice(all, part);
        const double factor = part.adapter->scale / scale(parts);
        for (int64_t r = 0; r < part.rank; ++r) {
          for (int64_t o = 0; o < part.outputs; ++o) {
            const float value = from[r * part.outputs + o];
            out.values<float>()[(first_output + o) * all_ranks + first_rank + r] =
                static_cast<float>(value * factor);
          }
        }
        first_rank += part.rank;
      }
      first_output += part.outputs;
    }
    return out;
  }

  const Tree<HostTensor>& parameters_;
  std::map<std::string, std::vector<Part>> modules_;
};

std::string module_of(const std::string& tensor) { return tensor.substr(0, tensor.rfind('.')); }

// What the run has trained besides its adapters, in modules that peft keeps whole.
class SavedModules {
 public:
  SavedModules(const ModelToExport& model, const Adapters& adapters, const std::string& where) {
    for (const std::string& name : model.weights.names_of(model.also_trained)) {
      const std::string module = module_of(name);
      const bool is_whole = name.ends_with(".weight") || name.ends_with(".bias"),
                 is_of_experts = name.find(".experts.") != name.npos;  // one parameter there
      if (!is_whole || is_of_experts || adapters.modules().contains(module)) {
        throw ConfigError(fmt::format(
            "{}: expected trained parameters of modules that peft keeps whole, without an adapter, "
            "got {}; merge them (--format hf)",
            where, name));
      }
      modules_.insert(module);
    }
    const Tree<Type> tensors = model.weights.types(model.dtype);
    for (const auto& [name, type] : tensors)
      if (modules_.contains(module_of(name))) sources_[name] = name;
    // A head that is tied is a module of its own there.
    for (const std::string& name : model.weights.names_of({"decoder/emb/weight"})) {
      if (!modules_.contains(module_of(name)) || tensors.contains(kHead)) continue;
      sources_[kHead] = name;
      modules_.insert(module_of(kHead));
      is_tied_ = true;
    }
  }

  const std::set<std::string>& names() const { return modules_; }
  bool is_tied() const { return is_tied_; }
  void add_to(Tree<HostTensor>& tensors, const ModelToExport& model) const {
    for (const auto& [name, source] : sources_)
      tensors.emplace(kRoot + name, model.weights.tensor(source, model.parameters, model.dtype));
  }

 private:
  inline static const std::string kHead = "lm_head.weight";

  std::set<std::string> modules_;
  std::map<std::string, std::string> sources_;  // of a tensor
  bool is_tied_ = false;
};

std::string last_name(const std::string& module) { return module.substr(module.rfind('.') + 1); }

// Names that say which modules have adapters: their last parts, if all such modules have one.
std::vector<std::string> target_modules(const std::map<std::string, std::vector<Part>>& modules,
                                        const Tree<Type>& weights) {
  std::set<std::string> ends;
  for (const auto& [name, parts] : modules) ends.insert(last_name(name));
  std::vector<std::string> whole;
  for (const auto& [name, parts] : modules) whole.push_back(name);
  for (const auto& [tensor, type] : weights) {
    const std::string module = tensor.substr(0, tensor.rfind('.'));
    if (type.rank() > 1 && ends.contains(last_name(module)) && !modules.contains(module))
      return whole;
  }
  return {ends.begin(), ends.end()};
}

Json config_of(const Adapters& adapters, const SavedModules& saved, const ModelToExport& model,
               const std::string& base) {
  const auto& first = adapters.modules().begin()->second;
  const int64_t rank = Adapters::rank(first);
  const double alpha = Adapters::scale(first) * static_cast<double>(rank);
  Json ranks = Json::object(), alphas = Json::object();
  for (const auto& [name, parts] : adapters.modules()) {
    const int64_t own_rank = Adapters::rank(parts);
    const double own_alpha = Adapters::scale(parts) * static_cast<double>(own_rank);
    if (own_rank != rank) ranks[name] = own_rank;
    if (own_alpha != alpha) alphas[name] = own_alpha;
  }
  Json out = {
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", base.empty() ? Json() : Json(base)},
      {"r", rank},
      {"lora_alpha", alpha},
      {"lora_dropout", 0.0},
      {"target_modules", target_modules(adapters.modules(), model.weights.types(model.dtype))},
      {"rank_pattern", ranks},
      {"alpha_pattern", alphas},
      {"bias", "none"},
      {"fan_in_fan_out", model.described.family->inputs_first},
      {"use_rslora", false},
      {"modules_to_save", saved.names().empty() ? Json() : Json(saved.names())},
      {"inference_mode", true}};
  if (saved.is_tied()) out["ensure_weight_tying"] = true;
  return out;
}

}  // namespace

std::string to_text(const PeftReport& r) {
  return fmt::format(
      "{}: adapters of {} of a {}{}, {} parameters\n", r.dir.string(),
      counted(r.num_modules, "module"), r.family,
      r.num_saved == 0 ? "" : fmt::format(", {} kept whole", counted(r.num_saved, "module")),
      grouped_digits(r.num_parameters));
}

Json to_json(const PeftReport& r) {
  return {{"path", r.dir.string()},
          {"family", r.family},
          {"parameters", r.num_parameters},
          {"modules", r.num_modules},
          {"kept_whole", r.num_saved}};
}

PeftReport export_peft(const PeftExport& request, const Report& report) {
  const NewFolder folder{.dir = request.dir,
                         .unfinished = "export.tmp",
                         .lock = "export.lock",
                         .last = std::string(kPeftConfig)};
  check_new_folder(folder);
  const ModelToExport model = model_to_export(request.options, Adapted::kKept, report);
  const std::string where = request.options.run.string();
  if (model.num_adapters == 0) {
    throw ConfigError(
        fmt::format("{}: expected a model with adapters (LoraProduct), got one without", where));
  }
  const std::map<std::string, Adapter> found =
      adapters_of(*model.model.build({}, Scope{.path = "model"}));
  const ForeignConfig fields(Json::parse(model.described.fields.dump()), where);
  const Adapters adapters(found, model.described.family->weights(fields), model.parameters, where);
  const SavedModules saved(model, adapters, where);
  Tree<HostTensor> tensors = adapters.tensors();
  saved.add_to(tensors, model);
  PeftReport out{.dir = request.dir,
                 .family = std::string(model.described.family->model_type),
                 .num_modules = std::ssize(adapters.modules()),
                 .num_saved = std::ssize(saved.names())};
  for (auto& [name, value] : tensors) {
    out.num_parameters += value.size();
    if (const auto dtype = request.options.dtype) value = checked_astype(value, *dtype, name);
  }
  write_new_folder(folder, [&](const fs::path& unfinished) {
    save_safetensors(unfinished / kPeftTensors, tensors, {{"format", "pt"}});
    replace_file(unfinished / kPeftConfig,
                 config_of(adapters, saved, model, request.base).dump(2) + "\n");
  });
  return out;
}

}  // namespace axle
