#include "modifiers/set_remat.h"

#include "config/register.h"
#include "modifiers/slot_option.h"

namespace axle {

std::vector<Replaced> SetRemat::apply(ConfigRef root) const {
  set_option(root, "@remat", &cfg_.policy, cfg_.at, "SetRemat");
  return {};
}

SetRemat::Config remat(std::string at, Fn<RematPolicy()> policy) {
  return {.at = std::move(at), .policy = std::move(policy)};
}

AXLE_REGISTER(SetRemat)

}  // namespace axle
