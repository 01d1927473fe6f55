#include "modifiers/replace_class.h"

#include <fmt/format.h>

#include "config/register.h"
#include "config/replace.h"

namespace axle {

std::vector<Replaced> ReplaceClass::apply(ConfigRef root) const {
  ReplaceSpec spec{.select = select_by_name(cfg_.replace),
                   .with = AnyConfig::with_defaults(find_config_type(cfg_.with))};
  spec.select.at = cfg_.at;
  return {
      {fmt::format("{} -> {}", cfg_.replace, spec.with.type().name), replace_config(root, spec)}};
}

AXLE_REGISTER(ReplaceClass)

}  // namespace axle
