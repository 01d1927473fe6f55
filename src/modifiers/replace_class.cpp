#include "modifiers/replace_class.h"

#include <fmt/format.h>

#include "config/register.h"
#include "modifiers/field_texts.h"

namespace axle {

std::vector<Rewrite> ReplaceClass::apply(ConfigRef root) const {
  const ConfigType& type = find_config_type(cfg_.with);
  ReplaceSpec spec{.select = select_texts(cfg_.replace, cfg_.at, cfg_.where, "ReplaceClass"),
                   .with = AnyConfig::with_defaults(type),
                   .allow_none = true};
  std::vector<Rewrite> out = set_texts(spec.with, cfg_.set, type.name).classes;
  for (const auto& [path, text] : cfg_.set) spec.keep.push_back(path);
  RewriteReport report = replace_config(root, spec);
  if (report.matched.empty() && report.unchanged.empty()) {
    const Selector replaced{.type = type.owner, .at = cfg_.at};
    for_each_match(root, replaced,
                   [&](const std::string& path, const Slot&) { report.unchanged.push_back(path); });
    if (report.unchanged.empty()) fail_no_match(root, spec.select);
  }
  out.push_back({fmt::format("{} -> {}", cfg_.replace, type.name), std::move(report)});
  return out;
}

AXLE_REGISTER(ReplaceClass)

}  // namespace axle
