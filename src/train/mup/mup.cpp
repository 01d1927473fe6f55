#include "train/mup/mup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text/text.h"
#include "config/print.h"
#include "config/register.h"
#include "config/set.h"
#include "config/walk.h"
#include "learn/optimizer_groups.h"
#include "learn/transforms/gradient_transforms.h"
#include "modifiers/attention/set_attention.h"
#include "nn/init_rules.h"
#include "train/mup/mup_findings.h"

namespace axle {
namespace {

constexpr const char* kWhere = "MuP.base";
constexpr const char* kRate = "what the scale of its rate follows from";
constexpr const char* kOwnInit =
    "MuP: {}: expected a weight that takes model.@init, got one with the initialiser of its layer "
    "or of a nearer slot, {}; take that away, or leave the weight out, as Lora's 'except' does";

bool has_slot(ConfigRef root, const std::string& path) {
  const auto slot = slot_at(root, path);
  return slot && slot->ops->kind == FieldKind::kChild;
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

// Lists the cores that have no slot to set.
void list_others(const std::vector<MuPLogitScale>& scales, RewriteReport& report) {
  for (const MuPLogitScale& scale : scales) {
    if (!scale.field.empty()) continue;
    report.skipped.push_back(
        {"model",
         fmt::format("{}: heads grow from {} to {}: divide the factor of the queries by {}",
                     scale.layer, scale.base_dim, scale.head_dim, scale.growth())});
  }
}

void set_logit_scales(ConfigRef root, const std::vector<MuPLogitScale>& scales,
                      RewriteReport& report) {
  for (const MuPLogitScale& scale : scales) {
    if (scale.field.empty()) continue;
    const std::optional<Positive<double>>& now = *find_scale(root, scale.field);
    const double before = now ? double{*now} : 1 / std::sqrt(static_cast<double>(scale.base_dim));
    set(root, scale.field, fmt::format("{}", before / scale.growth()));
    report.matched.push_back(scale.field);
  }
}

void set_tables(ConfigRef root, const std::map<std::string, MuPTable>& tables,
                RewriteReport& report) {
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

// Returns the field of a layer, or of the slot that it shares with others, that holds the
// initialiser of its weights; "" if there is none.
std::string own_init(ConfigRef root, const std::string& slot) {
  for (const std::string& layer : {slot, path_of_shared_slot(slot)}) {
    const auto own = slot_at(root, layer + ".init");
    if (own && *own->ops->type == typeid(Init)) return layer + ".init";
  }
  return "";
}

void set_by_name(Child<Model>& model, InitByName by_name) {
  if (const auto& before = model.options.init) by_name.otherwise = *before;
  if (const auto* before = by_name.otherwise.functor().get_if<InitByName>()) {
    by_name.rules.insert(by_name.rules.end(), before->rules.begin(), before->rules.end());
    by_name.otherwise = Init(before->otherwise);
  }
  model.options.init = Init(by_name);
}

// Refuses weights that do not start as was set.
void check_inits(const Tree<ParamSpec>& specs, const std::map<std::string, Init>& inits) {
  for (const auto& [path, init] : inits) {
    const ParamSpec& spec = specs.at(path);
    const InitSpec of{.shape = spec.shape, .fan = spec.fan};
    const std::string got = (*spec.init)(of).text;
    if (got != init(of).text)
      throw ConfigError(fmt::format(fmt::runtime(kOwnInit), dotted(path), got));
  }
}

// Gives these weights their initialisers: in the slots of their layers, or by their names if the
// layers have no slots of their own, as those of a Stacked. Returns the slots.
std::vector<std::string> set_inits(ConfigRef root, Child<Model>& model,
                                   const std::map<std::string, Init>& inits) {
  std::vector<std::string> slots;
  InitByName by_name;
  for (const auto& [path, init] : inits) {
    const std::string slot = dotted(path.substr(0, path.rfind('/')));
    if (const std::string own = own_init(root, slot); !own.empty()) {
      *static_cast<Init*>(slot_at(root, own)->at) = init;
      if (std::ranges::count(slots, own) == 0) slots.push_back(own);
    } else if (has_slot(root, slot)) {
      const std::optional<Init> option = init;
      set_option(root, "@init", &option, slot, "MuP");
      slots.push_back(slot);
    } else {
      by_name.rules.push_back({.pattern = dotted(path), .init = init});
    }
  }
  if (!by_name.rules.empty()) {
    set_by_name(model, std::move(by_name));
    slots.emplace_back("model");
  }
  check_inits(specs_of(model), inits);
  return slots;
}

// The texts of slots that MuP has set. Of the slots of layers it sets an option alone.
std::map<std::string, std::string> written_in(ConfigRef root,
                                              const std::vector<std::string>& slots) {
  std::map<std::string, std::string> out;
  for (const std::string& path : slots) {
    if (path == "learner.update_transforms") continue;  // others may be added
    auto slot = slot_at(root, path + ".@init");
    if (!slot) slot = slot_at(root, path);
    out[path] = slot ? to_string(*slot) : "";
  }
  return out;
}

bool same_scale(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

// Refuses later changes with which the scales would be others, or that have taken them away.
void check_later(const MuPFindings& before, const std::map<std::string, std::string>& written,
                 const std::map<std::string, std::string>& fields, ConfigRef root) {
  if (!unset_fields(root).empty()) return;  // who builds them names them
  const MuPFindings now = find_mup(root, fields, kWhere);
  check_hidden_inits(now.scales, now.specs);
  const auto expect = [&](bool holds, const std::string& path, const char* what) {
    if (holds) return;
    throw ConfigError(
        fmt::format("MuP: {}: expected no later change of {}, got one; make it before MuP: {}",
                    path, what, kMuPOrder));
  };
  const auto expect_same = [&](const Tree<double>& a, const Tree<double>& b, const char* what) {
    for (const auto* const tree : {&a, &b}) {
      for (const auto& [path, factor] : *tree) {
        const bool is_frozen = now.specs.contains(path) && !now.updates.contains(path);
        if (what == kRate && is_frozen) continue;
        const auto old = a.find(path), changed = b.find(path);
        expect(
            same_scale(old == a.end() ? 1 : old->second, changed == b.end() ? 1 : changed->second),
            dotted(path), what);
      }
    }
  };
  expect_same(before.scales.learning_rate, now.scales.learning_rate, kRate);
  expect_same(before.scales.init_variance, now.scales.init_variance,
              "what the scale of its initial weights follows from");
  const auto growths = [](const std::vector<MuPLogitScale>& scales) {
    Tree<double> out;
    for (const MuPLogitScale& scale : scales) out.emplace(scale.layer, scale.growth());
    return out;
  };
  expect_same(growths(before.logits), growths(now.logits), "the size of its heads");
  expect(has_rates(learner_of(root), rates_of(before.scales)), "learner.update_transforms",
         "the rates that it has set");
  std::vector<std::string> slots;
  for (const auto& [path, text] : written) slots.push_back(path);
  const std::map<std::string, std::string> texts = written_in(root, slots);
  for (const auto& [path, text] : written)
    expect(texts.at(path) == text, path, "what it has set there");
}

}  // namespace

std::vector<Rewrite> MuP::apply(ConfigRef root) const {
  auto& model = model_of(root);
  Learner::Config& learner = learner_of(root);
  const MuPFindings found = find_mup(root, cfg_.base, kWhere);
  Rewrite out{.what = "MuP", .report = {}, .check = {}};
  list_others(found.logits, out.report);
  const ScaleByPath::Config rates = rates_of(found.scales);
  if (has_rates(learner, rates)) {
    out.report.unchanged.emplace_back("learner.update_transforms");
  } else {
    check_hidden_inits(found.scales, found.specs);
    const std::map<std::string, Init> inits = inits_of(found.scales, found.specs);
    set_tables(root, found.tables, out.report);
    for (std::string& slot : set_inits(root, model, inits))
      out.report.matched.push_back(std::move(slot));
    set_logit_scales(root, found.logits, out.report);
    list_groups(root, out.report);
    out.report.matched.emplace_back("learner.update_transforms");
    learner.update_transforms.push_back(rates);
  }
  out.check = [fields = cfg_.base, found, written = written_in(root, out.report.matched)](
                  ConfigRef after) { check_later(found, written, fields, after); };
  return {std::move(out)};
}

AXLE_REGISTER(MuP)

}  // namespace axle
