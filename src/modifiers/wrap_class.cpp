#include "modifiers/wrap_class.h"

#include <fmt/format.h>

#include <set>

#include "base/text/text.h"
#include "config/register.h"
#include "config/walk.h"
#include "modifiers/field_texts.h"

namespace axle {
namespace {

// Returns the paths of all slots that hold a config of this type.
std::set<std::string> paths_of(ConfigRef root, const ConfigType& type) {
  std::set<std::string> out;
  walk(root, [&](const std::string& path, const Slot& slot) {
    const AnyConfig* held = held_config(slot);
    if (held && *held && &held->type() == &type) out.insert(path);
  });
  return out;
}

}  // namespace

std::vector<Rewrite> WrapClass::apply(ConfigRef root) const {
  const ConfigType& around = class_named(cfg_.with, "WrapClass", "with");
  const std::set<std::string> wrappers = paths_of(root, around);
  const std::string inside = "." + cfg_.slot;
  RewriteReport before;  // what holds a config of the wanted class in its slot already
  const Selector wanted = select_texts(cfg_.wrap, "**", cfg_.where, "WrapClass", "wrap");
  for_each_match(root, wanted, [&](const std::string& path, const Slot&) {
    if (!path.ends_with(inside)) return;
    std::string outer = path.substr(0, path.size() - inside.size());
    if (wrappers.contains(outer) && glob_match(cfg_.at, outer))
      before.unchanged.push_back(std::move(outer));
  });
  ReplaceSpec spec{.select = wanted,
                   .with = AnyConfig::with_defaults(around),
                   .wrap = cfg_.slot,
                   .allow_none = true};
  spec.select.at = cfg_.at;
  spec.select.where = [&](const std::string& path, const AnyConfig& config) {
    const bool is_inside =
        path.ends_with(inside) && wrappers.contains(path.substr(0, path.size() - inside.size()));
    return !is_inside && !wrappers.contains(path) && (!wanted.where || wanted.where(path, config));
  };
  RewriteReport report = replace_config(root, spec);
  report.unchanged = std::move(before.unchanged);
  if (report.matched.empty() && report.unchanged.empty()) {
    Selector missing = wanted;
    missing.at = cfg_.at;
    fail_no_match(root, missing);
  }
  return {{fmt::format("{} inside {}", cfg_.wrap, around.name), std::move(report)}};
}

AXLE_REGISTER(WrapClass)

}  // namespace axle
