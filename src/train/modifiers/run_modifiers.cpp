#include "train/modifiers/run_modifiers.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "modifiers/attention/set_attention.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/trial_model.h"
#include "train/config/trainer_config.h"

namespace axle {

DtypePolicy::DtypePolicy(const Config& cfg, const Dims&, const Scope& scope)
    : cfg_(cfg), allow_none_(may_find_none(scope)) {
  if (!cfg_.params && cfg_.rules.empty() && !cfg_.compute)
    throw ConfigError("DtypePolicy: expected params, rules or compute, got none; set one of them");
}

std::vector<Rewrite> DtypePolicy::apply(ConfigRef root) const {
  if (const Child<Model>* const model = find_model(root); model && !allow_none_) {
    std::vector<ParameterPattern> patterns;
    for (size_t i = 0; i < cfg_.rules.size(); ++i)
      patterns.push_back({fmt::format("DtypePolicy.rules[{}].pattern", i), *cfg_.rules[i].pattern});
    check_patterns_of_parameters(*model, patterns);
  }
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

std::vector<Rewrite> GradientAccumulation::apply(ConfigRef root) const {
  const Selector learners{.type = &typeid(Learner), .derived = true};
  return {
      {"GradientAccumulation", set_field(root, learners, "microbatches", cfg_.microbatches.get())}};
}

AXLE_REGISTER(GradientAccumulation)

std::vector<Rewrite> SetEma::apply(ConfigRef root) const {
  const Selector learners{.type = &typeid(Learner), .derived = true};
  return {{"SetEma", set_field(root, learners, "ema", cfg_.ema)}};
}

AXLE_REGISTER(SetEma)

}  // namespace axle
