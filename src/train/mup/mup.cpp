#include "train/mup/mup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/find_slot.h"
#include "config/register.h"
#include "config/set.h"
#include "layers/models/model.h"
#include "learn/learner.h"
#include "learn/transforms/scale_by_path.h"
#include "modifiers/slot_option.h"
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

// Returns the slot's value, which must have the type T.
template <class T>
T& value_at(ConfigRef root, const char* path) {
  const Slot slot = find_slot(root, path);
  if (*slot.ops->type == typeid(T)) return *static_cast<T*>(slot.at);
  throw ConfigError(
      fmt::format("MuP: expected a trainer's config, got one with another field {}", path));
}

bool has_slot(ConfigRef root, const std::string& path) {
  try {
    return find_slot(root, path).ops->kind == FieldKind::kChild;
  } catch (const ConfigError&) {
    return false;
  }
}

Init scaled_init(const std::string& path, const ParamSpec& spec, double factor) {
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

// Gives these weights their initialisers: in the slots of their layers, or by their names if the
// layers have no slots of their own, as those of a Stacked. Returns the slots.
std::vector<std::string> set_inits(ConfigRef root, Child<Model>& model,
                                   const std::map<std::string, Init>& inits) {
  std::vector<std::string> slots;
  InitByName by_name;
  for (const auto& [path, init] : inits) {
    const std::string slot = dotted(path.substr(0, path.rfind('/')));
    if (has_slot(root, slot)) {
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
  Learner::Config* const learner = value_at<Child<Learner>>(root, "learner").get_if<Learner>();
  if (!learner) throw NoMatch("MuP: learner: expected a Learner, got another class or none");
  ModelRoot base{.model = model};
  for (const auto& [path, text] : cfg_.base) set(base, path, text);
  const Tree<ParamSpec> wide = specs_of(model);
  const MuPScales scales = mup_scales(specs_of(base.model), wide, kWhere);
  if (scales.learning_rate.empty()) {
    throw ConfigError(
        fmt::format("{}: expected a model of another width, got one of the same", kWhere));
  }
  Rewrite out{.what = "MuP", .report = {}};
  ScaleByPath::Config rates;
  for (const auto& [path, scale] : scales.learning_rate) rates.scales[dotted(path)] = scale;
  for (const Child<GradientTransform>& transform : learner->update_transforms) {
    const auto* const known = transform.get_if<ScaleByPath>();
    const auto same = [](const auto& a, const auto& b) {
      return a.first == b.first && double{a.second} == double{b.second};
    };
    if (known && std::ranges::equal(known->scales, rates.scales, same)) {
      out.report.unchanged.emplace_back("learner.update_transforms");
      return {std::move(out)};
    }
  }
  std::map<std::string, Init> inits;
  for (const auto& [path, factor] : scales.init_variance)
    inits.emplace(path, scaled_init(path, wide.at(path), factor));
  out.report.matched = set_inits(root, model, inits);
  out.report.matched.emplace_back("learner.update_transforms");
  learner->update_transforms.push_back(rates);
  return {std::move(out)};
}

AXLE_REGISTER(ModelRoot)
AXLE_REGISTER(MuP)

}  // namespace axle
