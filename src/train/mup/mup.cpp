#include "train/mup/mup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
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

std::string dotted(std::string path) {
  std::ranges::replace(path, '/', '.');
  return path;
}

// Returns the slot's value, which must have the type T.
template <class T>
T& value_at(ConfigRef root, const char* path) {
  const Slot slot = find_slot(root, path);
  if (*slot.ops->type == typeid(T)) return *static_cast<T*>(slot.at);
  throw ConfigError(
      fmt::format("MuP: expected a trainer's config, got one with another field {}", path));
}

// Scales the variance of the initialiser that the slot of this weight has now.
void scale_init(ConfigRef root, const std::string& path, const ParamSpec& spec, double factor) {
  const VarianceScaling* const now = spec.init->functor().get_if<VarianceScaling>();
  const std::string slot = dotted(path.substr(0, path.rfind('/')));
  if (!now || now->fan == Fan::kNone) {
    throw ConfigError(
        fmt::format("MuP: {}.@init: expected VarianceScaling with a fan, got {}; set it", slot,
                    spec.init->name()));
  }
  VarianceScaling scaled = *now;
  scaled.scale = now->scale * factor;
  const std::optional<Init> option = Init(scaled);
  set_option(root, "@init", &option, slot, "MuP");
}

}  // namespace

std::vector<Replaced> MuP::apply(ConfigRef root) const {
  const auto& model = value_at<Child<Model>>(root, "model");
  Learner::Config* const learner = value_at<Child<Learner>>(root, "learner").get_if<Learner>();
  if (!learner) throw ConfigError("MuP: learner: expected a Learner, got another class");
  ModelRoot base{.model = model};
  for (const auto& [path, text] : cfg_.base) set(base, path, text);
  const Tree<ParamSpec> wide = specs_of(model);
  const MuPScales scales = mup_scales(specs_of(base.model), wide, kWhere);
  if (scales.learning_rate.empty()) {
    throw ConfigError(
        fmt::format("{}: expected a model of another width, got one of the same", kWhere));
  }
  ScaleByPath::Config rates;
  for (const auto& [path, scale] : scales.learning_rate) rates.scales[dotted(path)] = scale;
  for (const Child<GradientTransform>& transform : learner->update_transforms) {
    const auto* const known = transform.get_if<ScaleByPath>();
    const auto same = [](const auto& a, const auto& b) {
      return a.first == b.first && double{a.second} == double{b.second};
    };
    if (known && std::ranges::equal(known->scales, rates.scales, same)) return {};
  }
  for (const auto& [path, factor] : scales.init_variance)
    scale_init(root, path, wide.at(path), factor);
  learner->update_transforms.push_back(rates);
  return {};
}

AXLE_REGISTER(ModelRoot)
AXLE_REGISTER(MuP)

}  // namespace axle
