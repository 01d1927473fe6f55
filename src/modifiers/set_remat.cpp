#include "modifiers/set_remat.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "config/register.h"
#include "config/walk.h"

namespace axle {

void SetRemat::apply(ConfigRef root) const {
  int64_t matches = 0;
  walk(root, [&](const std::string& path, const Slot& slot) {
    if (!glob_match(cfg_.at, path)) return;
    for (const Slot& option : children_of(slot)) {
      if (option.name != "@remat") continue;
      option.ops->assign(option.at, &cfg_.policy);
      ++matches;
    }
  });
  if (matches == 0)
    throw ConfigError(fmt::format(
        "SetRemat.at: expected the path of a layer slot, got '{}', which matches none", cfg_.at));
}

SetRemat::Config remat(std::string at, Fn<RematPolicy()> policy) {
  return {.at = std::move(at), .policy = std::move(policy)};
}

AXLE_REGISTER(SetRemat)

}  // namespace axle
