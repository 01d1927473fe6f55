#include "modifiers/set_remat.h"

#include <fmt/format.h>

#include "config/register.h"
#include "modifiers/slot_option.h"

namespace axle {

std::vector<Rewrite> SetRemat::apply(ConfigRef root) const {
  return {{fmt::format("SetRemat at {}", cfg_.at),
           set_option(root, "@remat", &cfg_.policy, cfg_.at, "SetRemat")}};
}

SetRemat::Config remat(std::string at, Fn<RematPolicy()> policy) {
  return {.at = std::move(at), .policy = std::move(policy)};
}

AXLE_REGISTER(SetRemat)

}  // namespace axle
