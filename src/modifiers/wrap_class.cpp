#include "modifiers/wrap_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
  const ConfigType& around = find_config_type(cfg_.with);
  const std::set<std::string> wrapped = paths_of(root, around);
  ReplaceSpec spec{.select = select_texts(cfg_.wrap, cfg_.at, cfg_.where, "WrapClass"),
                   .with = AnyConfig::with_defaults(around),
                   .wrap = cfg_.slot,
                   .allow_none = true};
  const std::string inside = "." + cfg_.slot;
  const auto holds = spec.select.where;
  spec.select.where = [&](const std::string& path, const AnyConfig& config) {
    const bool is_inside =
        path.ends_with(inside) && wrapped.contains(path.substr(0, path.size() - inside.size()));
    return !is_inside && !wrapped.contains(path) && (!holds || holds(path, config));
  };
  RewriteReport report = replace_config(root, spec);
  std::ranges::copy_if(wrapped, std::back_inserter(report.unchanged),
                       [&](const std::string& path) { return glob_match(cfg_.at, path); });
  if (report.matched.empty() && report.unchanged.empty()) fail_no_match(root, spec.select);
  return {{fmt::format("{} inside {}", cfg_.wrap, around.name), std::move(report)}};
}

AXLE_REGISTER(WrapClass)

}  // namespace axle
