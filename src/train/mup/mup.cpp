#include "train/mup/mup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text/text.h"
#include "config/find_slot.h"
#include "config/mistakes.h"
#include "config/register.h"
#include "config/set.h"
#include "config/walk.h"
#include "layers/attention/attention.h"
#include "layers/models/decoder.h"
#include "layers/models/model.h"
#include "learn/learner.h"
#include "learn/optimizers/optimizer_groups.h"
#include "learn/transforms/report_gradients.h"
#include "learn/transforms/scale_by_path.h"
#include "modifiers/slot_option.h"
#include "nn/init_per_group.h"
#include "train/mup/mup_scales.h"

namespace axle {
namespace {

constexpr const char* kWhere = "MuP.base";

/// A tree of the model alone.
struct ModelRoot {
  /// The model.
  Child<Model> model;
  AXLE_CONFIG(ModelRoot, model)
};

Tree<ParamSpec> specs_of(const Child<Model>& model) {
  return model.build({}, Scope{.path = "model"})->param_specs();
}

struct BaseModel {
  Child<Model> model;
  Tree<ParamSpec> specs;
};

// Returns the model with these fields. Its mistakes are those of the base: they name it.
BaseModel base_of(const Child<Model>& model, const std::map<std::string, std::string>& fields) {
  std::vector<std::string> texts;
  for (const auto& [path, text] : fields) texts.push_back(fmt::format("{}={}", path, text));
  try {
    ModelRoot root{.model = model};
    for (const auto& [path, text] : fields) set(root, path, text);
    return {root.model, specs_of(root.model)};
  } catch (const ConfigError& error) {
    throw ConfigError(
        with_location(fmt::format("{}: with {}", kWhere, join(texts, ", ")), error.what()));
  }
}

// Returns how large the updates of all trained parameters are. Refuses optimizers that do not say
// it, and what changes the size of gradients before an optimizer that follows them.
Tree<UpdateSize> updates_of(const Learner::Config& config, const Tree<ParamSpec>& specs) {
  constexpr int64_t kRunSteps = 1 << 20;  // of no importance here
  const std::unique_ptr<Learner> learner = Child<Learner>(config).build(
      {.params = specs, .run_steps = kRunSteps}, Scope{.path = "learner"});
  Tree<UpdateSize> out = learner->update_sizes();
  for (const auto& [path, spec] : learner->trained()) {
    if (out.contains(path)) continue;
    throw ConfigError(fmt::format(
        "MuP: learner.optimizer: expected updates whose size at another width is known, as that of "
        "AdamW, Lion, Muon or Sgd without clipping, got those of {} for {}; take another "
        "optimizer",
        config.optimizer.any().type().name, dotted(path)));
  }
  const bool follows_gradients = std::ranges::any_of(
      out, [](const auto& size) { return size.second.kind == UpdateKind::kGradient; });
  for (size_t i = 0; follows_gradients && i < config.transforms.size(); ++i) {
    const Child<GradientTransform>& transform = config.transforms[i];
    if (transform.get_if<ScaleByPath>() || transform.get_if<ReportGradients>()) continue;
    throw ConfigError(
        fmt::format("MuP: learner.transforms[{}]: expected none that changes the size of gradients "
                    "before an optimizer whose updates follow it, got {}; leave it out",
                    i, transform.any().type().name));
  }
  return out;
}

// What the scales follow from.
struct MuPBasis {
  Tree<std::vector<double>> growths;  // of each dim of a parameter, over that of the base model
  Tree<UpdateSize> updates;
};

MuPBasis basis_of(const Tree<ParamSpec>& base, const Tree<ParamSpec>& wide,
                  const Learner::Config& learner) {
  MuPBasis out{.growths = {}, .updates = updates_of(learner, wide)};
  for (const auto& [path, spec] : wide) {
    const auto narrow = base.find(path);
    if (narrow == base.end() || narrow->second.shape.size() != spec.shape.size()) continue;
    std::vector<double>& growth = out.growths[path];
    for (size_t i = 0; i < spec.shape.size(); ++i) {
      growth.push_back(static_cast<double>(spec.shape[i]) /
                       static_cast<double>(narrow->second.shape[i]));
    }
  }
  return out;
}

// Refuses a model or an optimizer with which the scales would be others.
void check_basis(const MuPBasis& before, const MuPBasis& now) {
  constexpr const char* kOrder =
      "make the change before MuP: flags apply from left to right, and in a file 'set' comes after "
      "'modify'";
  const auto other = std::ranges::find_if(now.growths, [&](const auto& growth) {
    const auto known = before.growths.find(growth.first);
    return known == before.growths.end() || known->second != growth.second;
  });
  if (other != now.growths.end()) {
    const auto known = before.growths.find(other->first);
    throw ConfigError(fmt::format(
        "MuP: {}: expected the growth that its scales are for, {}, got {} by a later change; {}",
        dotted(other->first),
        known == before.growths.end() ? "none" : fmt::format("{}", fmt::join(known->second, " x ")),
        fmt::join(other->second, " x "), kOrder));
  }
  if (before.updates != now.updates) {
    throw ConfigError(fmt::format(
        "MuP: learner: expected the optimizer that its scales are for, got another one, or other "
        "trained parameters, by a later change; {}",
        kOrder));
  }
}

// Returns the slot's value, which must have the type T.
template <class T>
T& value_at(ConfigRef root, const char* path) {
  const Slot slot = find_slot(root, path);
  if (*slot.ops->type == typeid(T)) return *static_cast<T*>(slot.at);
  throw ConfigError(
      fmt::format("MuP: expected a trainer's config, got one with another field {}", path));
}

Learner::Config* learner_of(ConfigRef root) {
  Learner::Config* const learner = value_at<Child<Learner>>(root, "learner").get_if<Learner>();
  if (!learner) throw NoMatch("MuP: learner: expected a Learner, got another class or none");
  return learner;
}

// Returns the slot at the path of a layer; none if the layer has no slot with its name.
std::optional<Slot> slot_at(ConfigRef root, const std::string& path) {
  try {
    return find_slot(root, path);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

bool has_slot(ConfigRef root, const std::string& path) {
  const auto slot = slot_at(root, path);
  return slot && slot->ops->kind == FieldKind::kChild;
}

// Returns the factor of the queries of a core; nullptr if the tree has no such slot.
const std::optional<Positive<double>>* find_scale(ConfigRef root, const std::string& path) {
  const auto slot = slot_at(root, path);
  if (!slot || *slot->ops->type != typeid(std::optional<Positive<double>>)) return nullptr;
  return static_cast<const std::optional<Positive<double>>*>(slot->at);
}

// Returns the path with "layer" in place of the names of a Stacked's layers, "layer0", "layer1".
std::string path_of_shared_slot(const std::string& path) {
  std::vector<std::string> names;
  for (const std::string_view name : split(path, '.')) {
    const bool is_numbered = name.starts_with("layer") && is_digits(name.substr(5));
    names.emplace_back(is_numbered ? "layer" : name);
  }
  return join(names, ".");
}

// True if the weights start at the same size whatever their fan. All zeros need no scale.
bool has_fixed_size(const Init& init) {
  if (const auto* const groups = init.functor().get_if<InitPerGroup>())
    return has_fixed_size(groups->init);
  const auto* const scaled = init.functor().get_if<VarianceScaling>();
  return init.functor().get_if<Gaussian>() || (scaled && scaled->fan == Fan::kNone);
}

// Refuses hidden weights that would start too large in a wider model.
void check_hidden_inits(const MuPScales& scales, const Tree<ParamSpec>& wide) {
  std::vector<std::string> fixed;
  for (const auto& [path, growth] : scales.inputs) {
    if (!scales.init_variance.contains(path) && has_fixed_size(*wide.at(path).init))
      fixed.push_back(dotted(path));
  }
  if (fixed.empty()) return;
  throw ConfigError(
      fmt::format("MuP: expected hidden weights that start by VarianceScaling with a fan, got a "
                  "fixed size for {}; set @init",
                  join(fixed, ", ")));
}

// The sizes of the heads of each Attention, by its path.
Tree<int64_t> head_dims(const Child<Model>& model) {
  const std::unique_ptr<Model> built = model.build({}, Scope{.path = "model"});
  const Tree<ParamSpec> specs = built->param_specs();
  Tree<int64_t> out;
  built->visit([&](const Layer& layer) {
    if (!dynamic_cast<const Attention*>(&layer)) return;
    const auto weight = specs.find(join_path(layer.path(), "output/weight"));
    if (weight != specs.end()) out.emplace(layer.path(), weight->second.shape.back());
  });
  return out;
}

// The factor of the queries of a core whose heads grow: q k / head dim in place of
// q k / sqrt(head dim).
struct LogitScale {
  std::string layer;
  std::string field;  // empty: the layer has no slot with its name
  int64_t base_dim, head_dim;
  double growth() const { return static_cast<double>(head_dim) / static_cast<double>(base_dim); }
};

// The layers of a Stacked may share a slot.
std::vector<LogitScale> logit_scales(ConfigRef root, const Tree<int64_t>& base,
                                     const Tree<int64_t>& wide) {
  std::vector<LogitScale> out;
  for (const auto& [path, head_dim] : wide) {
    const auto narrow = base.find(path);
    if (narrow == base.end() || narrow->second == head_dim) continue;
    const std::string field = dotted(path) + ".core.scale";
    LogitScale scale{dotted(path), "", narrow->second, head_dim};
    for (const std::string& at : {field, path_of_shared_slot(field)}) {
      if (scale.field.empty() && find_scale(root, at)) scale.field = at;
    }
    const bool is_known = std::ranges::any_of(out, [&](const LogitScale& other) {
      return !scale.field.empty() && other.field == scale.field;
    });
    if (!is_known) out.push_back(std::move(scale));
  }
  return out;
}

// Lists the cores that have no slot to set.
void list_others(const std::vector<LogitScale>& scales, RewriteReport& report) {
  for (const LogitScale& scale : scales) {
    if (!scale.field.empty()) continue;
    report.skipped.push_back(
        {"model",
         fmt::format("{}: heads grow from {} to {}: divide the factor of the queries by {}",
                     scale.layer, scale.base_dim, scale.head_dim, scale.growth())});
  }
}

void set_logit_scales(ConfigRef root, const std::vector<LogitScale>& scales,
                      RewriteReport& report) {
  for (const LogitScale& scale : scales) {
    if (scale.field.empty()) continue;
    const std::optional<Positive<double>>& now = *find_scale(root, scale.field);
    const double before = now ? double{*now} : 1 / std::sqrt(static_cast<double>(scale.base_dim));
    set(root, scale.field, fmt::format("{}", before / scale.growth()));
    report.matched.push_back(scale.field);
  }
}

// A table of embeddings.
struct Table {
  std::string layer;   // its path in the config
  double vectors = 1;  // growth of the factor of its vectors
  double logits = 1;   // factor of its logits; 1 if it is no head
  bool is_head = false;
};

double factor_at(ConfigRef root, const std::string& layer, int64_t dim) {
  const auto slot = slot_at(root, layer + ".scale");
  if (!slot || *slot->ops->type != typeid(std::optional<EmbeddingScale>)) return 1;
  const auto& scale = *static_cast<const std::optional<EmbeddingScale>*>(slot->at);
  return scale ? (*scale)(dim) : 1;
}

// Returns the tables of decoders that are trained (`specs`), by the paths of their weights.
std::map<std::string, Table> tables_of(ConfigRef root, const Child<Model>& base,
                                       const Child<Model>& wide, const Tree<ParamSpec>& specs) {
  const auto widths = [](const Child<Model>& model) {
    std::map<std::string, std::pair<int64_t, bool>> out;
    model.build({}, Scope{.path = "model"})->visit([&](const Layer& layer) {
      if (const auto* decoder = dynamic_cast<const Decoder*>(&layer))
        out[layer.path()] = {decoder->model_dim(), decoder->is_tied()};
    });
    return out;
  };
  std::map<std::string, Table> out;
  const auto narrow = widths(base);
  for (const auto& [path, width] : widths(wide)) {
    const auto [dim, is_head] = width;
    const int64_t before = narrow.at(path).first;
    const auto first = specs.lower_bound(path + "/");
    if (dim == before || first == specs.end() || !first->first.starts_with(path + "/")) continue;
    Table table{.layer = dotted(path + "/emb"), .is_head = is_head};
    table.vectors = factor_at(root, table.layer, dim) / factor_at(root, table.layer, before);
    if (is_head)
      table.logits = table.vectors * static_cast<double>(before) / static_cast<double>(dim);
    out.emplace(path + "/emb/weight", table);
  }
  return out;
}

// Vectors with a factor that grows: rates and initial weights make up for it.
void scale_tables(const std::map<std::string, Table>& tables, const Tree<UpdateSize>& updates,
                  MuPScales& scales) {
  const auto multiply = [](Tree<double>& factors, const std::string& path, double factor) {
    factors.emplace(path, 1).first->second *= factor;
  };
  for (const auto& [path, table] : tables) {
    const auto size = updates.find(path);
    const bool is_trained = size != updates.end();
    if (is_trained && size->second.kind == UpdateKind::kSpectral) {
      throw ConfigError(
          fmt::format("MuP: learner.optimizer: expected matrices whose inputs are activations, got "
                      "{}, a table of embeddings; exclude it",
                      dotted(path)));
    }
    if (table.vectors == 1) continue;
    multiply(scales.init_variance, path, 1 / (table.vectors * table.vectors));
    if (!is_trained) continue;
    if (size->second.kind == UpdateKind::kElements)
      multiply(scales.learning_rate, path, 1 / table.vectors);
    if (size->second.kind == UpdateKind::kGradient)
      multiply(scales.learning_rate, path, 1 / (table.vectors * table.vectors));
  }
}

void set_tables(ConfigRef root, const std::map<std::string, Table>& tables, RewriteReport& report) {
  for (const auto& [path, table] : tables) {
    if (!table.is_head) continue;
    const std::string field = table.layer + ".attend_scale";
    const auto slot = slot_at(root, field);
    if (!slot || *slot->ops->type != typeid(Positive<double>)) {
      throw ConfigError(fmt::format(
          "MuP: {}: expected an Embedding, whose logits have the factor attend_scale, since its "
          "table is the head too, got another class; give the decoder an lm_head",
          table.layer));
    }
    auto& scale = *static_cast<Positive<double>*>(slot->at);
    scale = scale * table.logits;
    report.matched.push_back(field);
  }
}

Init scaled_init(const std::string& path, const ParamSpec& spec, double factor) {
  if (const auto* const normal = spec.init->functor().get_if<Gaussian>();
      normal && path.ends_with("/emb/weight")) {
    Gaussian scaled = *normal;
    scaled.std = *normal->std * std::sqrt(factor);
    return scaled;
  }
  const VarianceScaling* const now = spec.init->functor().get_if<VarianceScaling>();
  if (!now || now->fan == Fan::kNone) {
    throw ConfigError(
        fmt::format("MuP: {}.@init: expected VarianceScaling with a fan, got {}; set it",
                    dotted(path.substr(0, path.rfind('/'))), spec.init->name()));
  }
  VarianceScaling scaled = *now;
  scaled.scale = now->scale * factor;
  return scaled;
}

std::map<std::string, Init> inits_of(const MuPScales& scales, const Tree<ParamSpec>& wide) {
  std::map<std::string, Init> out;
  for (const auto& [path, factor] : scales.init_variance) {
    if (std::abs(factor - 1) > 1e-9) out.emplace(path, scaled_init(path, wide.at(path), factor));
  }
  return out;
}

ScaleByPath::Config rates_of(const MuPScales& scales) {
  ScaleByPath::Config out;
  for (const auto& [path, scale] : scales.learning_rate) out.scales[dotted(path)] = scale;
  return out;
}

bool has_rates(const Learner::Config& learner, const ScaleByPath::Config& rates) {
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && double{a.second} == double{b.second};
  };
  return std::ranges::any_of(learner.update_transforms, [&](const auto& transform) {
    const auto* const known = transform.template get_if<ScaleByPath>();
    return known && std::ranges::equal(known->scales, rates.scales, same);
  });
}

// Some recipes give groups of layers rates that follow the width already.
void list_groups(ConfigRef root, RewriteReport& report) {
  for_each_config<OptimizerGroups>(root, [&](const std::string& path, const auto&) {
    report.skipped.push_back(
        {path, "its groups have rates of their own, which count as rates of the base model"});
  });
}

// Gives these weights their initialisers: in the slots of their layers, or by their names if the
// layers have no slots of their own, as those of a Stacked. Returns the slots.
std::vector<std::string> set_inits(ConfigRef root, Child<Model>& model,
                                   const std::map<std::string, Init>& inits) {
  std::vector<std::string> slots;
  InitByName by_name;
  for (const auto& [path, init] : inits) {
    const std::string slot = dotted(path.substr(0, path.rfind('/')));
    if (const auto own = slot_at(root, slot + ".init"); own && *own->ops->type == typeid(Init)) {
      *static_cast<Init*>(own->at) = init;
      slots.push_back(slot + ".init");
    } else if (has_slot(root, slot)) {
      const std::optional<Init> option = init;
      set_option(root, "@init", &option, slot, "MuP");
      slots.push_back(slot);
    } else {
      by_name.rules.push_back({.pattern = dotted(path), .init = init});
    }
  }
  if (by_name.rules.empty()) return slots;
  if (const auto& before = model.options.init) by_name.otherwise = *before;
  if (const auto* before = by_name.otherwise.functor().get_if<InitByName>()) {
    by_name.rules.insert(by_name.rules.end(), before->rules.begin(), before->rules.end());
    by_name.otherwise = Init(before->otherwise);
  }
  model.options.init = Init(by_name);
  slots.emplace_back("model");
  const Tree<ParamSpec> specs = specs_of(model);
  for (const auto& [path, init] : inits) {
    const auto* const got = specs.at(path).init->functor().get_if<VarianceScaling>();
    if (got && double{got->scale} == double{init.functor().get_if<VarianceScaling>()->scale})
      continue;
    throw ConfigError(fmt::format(
        "MuP: {}: expected the initialiser of model.@init, got one of a nearer slot; set it there",
        path));
  }
  return slots;
}

}  // namespace

std::vector<Rewrite> MuP::apply(ConfigRef root) const {
  auto& model = value_at<Child<Model>>(root, "model");
  Learner::Config* const learner = learner_of(root);
  const Tree<ParamSpec> wide = specs_of(model);  // first: its mistakes are not those of the base
  const BaseModel base = base_of(model, cfg_.base);
  const Tree<UpdateSize> updates = updates_of(*learner, wide);
  MuPScales scales =
      mup_scales({base.specs, updates_of(*learner, base.specs)}, {wide, updates}, kWhere);
  if (scales.inputs.empty()) {
    throw ConfigError(
        fmt::format("{}: expected a model of another width, got one of the same", kWhere));
  }
  const std::map<std::string, Table> tables = tables_of(root, base.model, model, wide);
  scale_tables(tables, updates, scales);
  const std::vector<LogitScale> logits =
      logit_scales(root, head_dims(base.model), head_dims(model));

  Rewrite out{.what = "MuP", .report = {}, .check = {}};
  out.check = [fields = cfg_.base, before = basis_of(base.specs, wide, *learner)](ConfigRef after) {
    const auto& changed = value_at<Child<Model>>(after, "model");
    check_basis(before,
                basis_of(base_of(changed, fields).specs, specs_of(changed), *learner_of(after)));
  };
  list_others(logits, out.report);
  const ScaleByPath::Config rates = rates_of(scales);
  if (has_rates(*learner, rates)) {
    out.report.unchanged.emplace_back("learner.update_transforms");
    return {std::move(out)};
  }
  check_hidden_inits(scales, wide);
  const std::map<std::string, Init> inits = inits_of(scales, wide);
  set_tables(root, tables, out.report);
  for (std::string& slot : set_inits(root, model, inits))
    out.report.matched.push_back(std::move(slot));
  set_logit_scales(root, logits, out.report);
  list_groups(root, out.report);
  out.report.matched.emplace_back("learner.update_transforms");
  learner->update_transforms.push_back(rates);
  return {std::move(out)};
}

AXLE_REGISTER(ModelRoot)
AXLE_REGISTER(MuP)

}  // namespace axle
