#include "modifiers/wrap_class.h"

#include <fmt/format.h>

#include <set>

#include "config/register.h"
#include "config/walk.h"

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

std::vector<Replaced> WrapClass::apply(ConfigRef root) const {
  const ConfigType& around = find_config_type(cfg_.with);
  const std::set<std::string> wrapped = paths_of(root, around);
  ReplaceSpec spec{.select = select_by_name(cfg_.wrap),
                   .with = AnyConfig::with_defaults(around),
                   .wrap = cfg_.slot,
                   .allow_none = !wrapped.empty()};
  spec.select.at = cfg_.at;
  const std::string inside = "." + cfg_.slot;
  spec.select.where = [&](const std::string& path, const AnyConfig&) {
    const bool is_inside =
        path.ends_with(inside) && wrapped.contains(path.substr(0, path.size() - inside.size()));
    return !is_inside && !wrapped.contains(path);
  };
  return {{fmt::format("{} inside {}", cfg_.wrap, around.name), replace_config(root, spec)}};
}

AXLE_REGISTER(WrapClass)

}  // namespace axle
