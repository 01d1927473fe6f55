#include "train/mup/mup_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/text/text.h"
#include "config/missing.h"
#include "config/register.h"
#include "config/replace.h"
#include "config/set.h"
#include "layers/attention/attention.h"
#include "layers/models/decoder.h"
#include "learn/matrix_split.h"
#include "learn/transforms/gradient_transforms.h"

namespace axle {
namespace {

// Returns the product of the sizes of these dims, those counted from the end.
double size_of(const std::vector<int64_t>& dims, const ParamSpec& spec) {
  const auto rank = static_cast<int64_t>(spec.shape.size());
  double out = 1;
  for (const int64_t dim : dims) {
    const int64_t i = dim < 0 ? dim + rank : dim;
    if (i >= 0 && i < rank) out *= static_cast<double>(spec.shape[static_cast<size_t>(i)]);
  }
  return out;
}

// Returns the factor by which the initialiser itself changes the variance of the weight; none if it
// is not known.
std::optional<double> own_growth(const ParamSpec& base, const ParamSpec& wide) {
  const auto* const now = wide.init->functor().get_if<VarianceScaling>();
  if (!now || now->fan == Fan::kNone) return std::nullopt;
  return fan_size({.shape = base.shape, .fan = base.fan}, now->fan) /
         fan_size({.shape = wide.shape, .fan = wide.fan}, now->fan);
}

double sqrt_of_matrix(const ParamSpec& spec) {
  const MatrixDims dims = *matrix_dims(spec);
  return std::sqrt(static_cast<double>(spec.shape[static_cast<size_t>(dims.row)]) *
                   static_cast<double>(spec.shape[static_cast<size_t>(dims.column)]));
}

// The growths of one parameter.
struct Growth {
  double in = 1, out = 1;
  double variance = 1;     // of the initial weights
  double matrix_sqrt = 1;  // of sqrt(R C)
};

Growth growth_of(const ParamSpec& base, const ParamSpec& wide) {
  if (!matrix_dims(wide)) {  // a vector has outputs alone
    const auto size = [](const ParamSpec& spec) {
      return static_cast<double>(num_elements(spec.shape));
    };
    return {.out = size(wide) / size(base)};
  }
  Growth out{.in = size_of(wide.fan.in, wide) / size_of(wide.fan.in, base),
             .out = size_of(wide.fan.out, wide) / size_of(wide.fan.out, base),
             .matrix_sqrt = sqrt_of_matrix(wide) / sqrt_of_matrix(base)};
  out.variance = out.out == 1 ? 1 / (out.in * out.in) : 1 / out.in;
  return out;
}

double rate_factor(const Growth& growth, const UpdateSize& base, const UpdateSize& wide) {
  switch (wide.kind) {
    case UpdateKind::kElements:
      return 1 / growth.in;
    case UpdateKind::kGradient:
      return growth.out / growth.in;
    case UpdateKind::kParameter:
      return 1 / growth.in / std::sqrt(growth.variance);
    case UpdateKind::kSpectral:
      return growth.matrix_sqrt / growth.in / (wide.gain / base.gain);
  }
  return 1;
}

bool is_one(double factor) { return std::abs(factor - 1) <= 1e-9; }

}  // namespace

MuPScales mup_scales(const MuPModel& base, const MuPModel& wide, std::string_view where) {
  const auto check = [&](bool same, const std::string& path) {
    if (same) return;
    throw ConfigError(
        fmt::format("{}: expected a model with the same parameters in other sizes, got another {}",
                    where, path));
  };
  for (const auto& [path, spec] : base.specs) check(wide.specs.contains(path), path);
  MuPScales out;
  for (const auto& [path, spec] : wide.specs) {
    const auto found = base.specs.find(path);
    check(found != base.specs.end() && found->second.shape.size() == spec.shape.size(), path);
    const ParamSpec& narrow = found->second;
    const Growth growth = growth_of(narrow, spec);
    const auto size = wide.updates.find(path), size_before = base.updates.find(path);
    if (size != wide.updates.end() && size_before != base.updates.end()) {
      const double factor = rate_factor(growth, size_before->second, size->second);
      if (!is_one(factor)) out.learning_rate.emplace(path, factor);
    }
    if (!matrix_dims(spec)) continue;
    if (growth.in != 1) out.inputs.emplace(path, growth.in);
    const auto own = own_growth(narrow, spec);
    const double factor = own ? growth.variance / *own : growth.out == 1 ? 1 / growth.in : 1;
    if (!is_one(factor)) out.init_variance.emplace(path, factor);
  }
  return out;
}

namespace {

// Returns the slot's value, which must have the type T.
template <class T>
T& value_at(ConfigRef root, const char* path) {
  const Slot slot = find_slot(root, path);
  if (*slot.ops->type == typeid(T)) return *static_cast<T*>(slot.at);
  throw ConfigError(
      fmt::format("MuP: expected a trainer's config, got one with another field {}", path));
}

}  // namespace

Child<Model>& model_of(ConfigRef root) { return value_at<Child<Model>>(root, "model"); }

Learner::Config& learner_of(ConfigRef root) {
  Learner::Config* const learner = value_at<Child<Learner>>(root, "learner").get_if<Learner>();
  if (!learner) throw NoMatch("MuP: learner: expected a Learner, got another class or none");
  return *learner;
}

std::optional<Slot> slot_at(ConfigRef root, const std::string& path) {
  try {
    return find_slot(root, path);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

Tree<ParamSpec> specs_of(const Child<Model>& model) {
  return model.build({}, Scope{.path = "model"})->param_specs();
}

std::vector<std::string> unset_fields(ConfigRef root) {
  std::vector<std::string> out = missing(root);
  std::erase_if(out, [](const std::string& path) {
    return !path.starts_with("model") && !path.starts_with("learner");
  });
  return out;
}

std::string path_of_shared_slot(const std::string& path) {
  std::vector<std::string> names;
  for (const std::string_view name : split(path, '.')) {
    const bool is_numbered = name.starts_with("layer") && is_digits(name.substr(5));
    names.emplace_back(is_numbered ? "layer" : name);
  }
  return join(names, ".");
}

const std::optional<Positive<double>>* find_scale(ConfigRef root, const std::string& path) {
  const auto slot = slot_at(root, path);
  if (!slot || *slot->ops->type != typeid(std::optional<Positive<double>>)) return nullptr;
  return static_cast<const std::optional<Positive<double>>*>(slot->at);
}

namespace {

/// A tree of the model alone.
struct ModelRoot {
  /// The model.
  Child<Model> model;
  AXLE_CONFIG(ModelRoot, model)
};

struct BaseModel {
  Child<Model> model;
  Tree<ParamSpec> specs;
};

// Returns the model with these fields. Its mistakes are those of the base: they name it.
BaseModel base_of(const Child<Model>& model, const std::map<std::string, std::string>& fields,
                  const char* where) {
  std::vector<std::string> texts;
  for (const auto& [path, text] : fields) texts.push_back(fmt::format("{}={}", path, text));
  try {
    ModelRoot root{.model = model};
    for (const auto& [path, text] : fields) set(root, path, text);
    return {root.model, specs_of(root.model)};
  } catch (const ConfigError& error) {
    throw ConfigError(
        with_location(fmt::format("{}: with {}", where, join(texts, ", ")), error.what()));
  }
}

void check_set(ConfigRef root) {
  const std::vector<std::string> unset = unset_fields(root);
  if (unset.empty()) return;
  throw ConfigError(fmt::format("MuP: REQUIRED but not set: {}; set each before MuP: {}",
                                join(unset, ", "), kMuPOrder));
}

// Returns how large the updates of all trained parameters are. Refuses optimizers that do not say
// it, and what changes the size of gradients before an optimizer that follows them.
Tree<UpdateSize> updates_of(Learner::Config config, const Tree<ParamSpec>& specs) {
  config.update_transforms.clear();  // of no importance here, and MuP's may name other parameters
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

// The layers of a Stacked may share a slot.
std::vector<MuPLogitScale> logit_scales(ConfigRef root, const Tree<int64_t>& base,
                                        const Tree<int64_t>& wide) {
  std::vector<MuPLogitScale> out;
  for (const auto& [path, head_dim] : wide) {
    const auto narrow = base.find(path);
    if (narrow == base.end() || narrow->second == head_dim) continue;
    const std::string field = dotted(path) + ".core.scale";
    MuPLogitScale scale{dotted(path), "", narrow->second, head_dim};
    for (const std::string& at : {field, path_of_shared_slot(field)}) {
      if (scale.field.empty() && find_scale(root, at)) scale.field = at;
    }
    const bool is_known = std::ranges::any_of(out, [&](const MuPLogitScale& other) {
      return !scale.field.empty() && other.field == scale.field;
    });
    if (!is_known) out.push_back(std::move(scale));
  }
  return out;
}

double factor_at(ConfigRef root, const std::string& layer, int64_t dim) {
  const auto slot = slot_at(root, layer + ".scale");
  if (!slot || *slot->ops->type != typeid(std::optional<EmbeddingScale>)) return 1;
  const auto& scale = *static_cast<const std::optional<EmbeddingScale>*>(slot->at);
  return scale ? (*scale)(dim) : 1;
}

// Returns the tables of decoders that are trained (`specs`), by the paths of their weights.
std::map<std::string, MuPTable> tables_of(ConfigRef root, const Child<Model>& base,
                                          const Child<Model>& wide, const Tree<ParamSpec>& specs) {
  const auto widths = [](const Child<Model>& model) {
    std::map<std::string, std::pair<int64_t, bool>> out;
    model.build({}, Scope{.path = "model"})->visit([&](const Layer& layer) {
      if (const auto* decoder = dynamic_cast<const Decoder*>(&layer))
        out[layer.path()] = {decoder->model_dim(), decoder->is_tied()};
    });
    return out;
  };
  std::map<std::string, MuPTable> out;
  const auto narrow = widths(base);
  for (const auto& [path, width] : widths(wide)) {
    const auto [dim, is_head] = width;
    const int64_t before = narrow.at(path).first;
    const auto first = specs.lower_bound(path + "/");
    if (dim == before || first == specs.end() || !first->first.starts_with(path + "/")) continue;
    MuPTable table{.layer = dotted(path + "/emb"), .is_head = is_head};
    table.vectors = factor_at(root, table.layer, dim) / factor_at(root, table.layer, before);
    if (is_head)
      table.logits = table.vectors * static_cast<double>(before) / static_cast<double>(dim);
    out.emplace(path + "/emb/weight", table);
  }
  return out;
}

// Vectors with a factor that grows: rates and initial weights make up for it.
void scale_tables(const std::map<std::string, MuPTable>& tables, const Tree<UpdateSize>& updates,
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

}  // namespace

MuPFindings find_mup(ConfigRef root, const std::map<std::string, std::string>& fields,
                     const char* where) {
  auto& model = model_of(root);
  const Learner::Config& learner = learner_of(root);
  check_set(root);
  MuPFindings out{.specs = specs_of(model)};  // first: its mistakes are not those of the base
  const BaseModel base = base_of(model, fields, where);
  out.updates = updates_of(learner, out.specs);
  out.scales =
      mup_scales({base.specs, updates_of(learner, base.specs)}, {out.specs, out.updates}, where);
  if (out.scales.inputs.empty()) {
    throw ConfigError(
        fmt::format("{}: expected a model of another width, got one of the same; set the width "
                    "before MuP: {}",
                    where, kMuPOrder));
  }
  out.tables = tables_of(root, base.model, model, out.specs);
  scale_tables(out.tables, out.updates, out.scales);
  out.logits = logit_scales(root, head_dims(base.model), head_dims(model));
  return out;
}

AXLE_REGISTER(ModelRoot)

}  // namespace axle
