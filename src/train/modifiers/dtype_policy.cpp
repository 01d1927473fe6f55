#include "train/modifiers/dtype_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/register.h"
#include "modifiers/set_field.h"
#include "modifiers/slot_option.h"
#include "modifiers/trial_model.h"
#include "nn/param_path.h"
#include "train/trainer.h"

namespace axle {

namespace {

// Throws NoMatch if a rule matches no parameter of the model. A model that cannot be built says why
// elsewhere.
void check_rules(const std::vector<DTypeRule>& rules, const Child<Model>& model) {
  if (rules.empty() || !mistakes_of(model).empty()) return;
  const Tree<ParamSpec> params = model.build({}, Scope{.path = "model"})->param_specs();
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string& pattern = *rules[i].pattern;
    const bool is_used = std::ranges::any_of(
        params, [&](const auto& param) { return matches_path(pattern, param.first); });
    if (is_used) continue;
    throw NoMatch(fmt::format(
        "DtypePolicy.rules[{}].pattern: expected the path of a parameter, got '{}', which matches "
        "none",
        i, pattern));
  }
}

}  // namespace

DtypePolicy::DtypePolicy(const Config& cfg, const Dims&, const Scope& scope)
    : cfg_(cfg), allow_none_(may_find_none(scope)) {
  if (!cfg_.params && cfg_.rules.empty() && !cfg_.compute)
    throw ConfigError("DtypePolicy: expected params, rules or compute, got none; set one of them");
}

std::vector<Rewrite> DtypePolicy::apply(ConfigRef root) const {
  if (const Child<Model>* const model = find_model(root); model && !allow_none_)
    check_rules(cfg_.rules, *model);
  std::vector<Rewrite> out;
  const auto set = [&](const char* option, const void* value) {
    out.push_back({fmt::format("DtypePolicy {}", option),
                   set_option(root, option, value, cfg_.at, "DtypePolicy")});
  };
  if (cfg_.params) set("@dtype", &cfg_.params);
  if (!cfg_.rules.empty()) set("@dtypes", &cfg_.rules);
  const bool is_whole_model = cfg_.at == Config().at;
  if (cfg_.compute && !is_whole_model) set("@compute", &cfg_.compute);
  if (cfg_.compute && is_whole_model) {
    out.push_back({"DtypePolicy compute_dtype",
                   set_field(root, {.type = &typeid(Trainer)}, "compute_dtype", cfg_.compute)});
  }
  return out;
}

AXLE_REGISTER(DtypePolicy)

}  // namespace axle
