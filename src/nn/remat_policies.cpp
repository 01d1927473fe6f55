#include "nn/remat_policies.h"

#include "config/register.h"

namespace axle {

RematPolicy CombinedPolicies::operator()() const {
  std::vector<RematPolicy> all;
  for (const Fn<RematPolicy()>& policy : policies) all.push_back(policy());
  return combine(std::move(all));
}

SaveNames kept_projections() {
  return {.names = {"q_proj", "k_proj", "v_proj", "attention_output"},
          .optional = {"attention_blocks", "attention_log_sum"}};
}

AXLE_REGISTER(SaveNothing)
AXLE_REGISTER(SaveEverything)
AXLE_REGISTER(SaveDots)
AXLE_REGISTER(OffloadDots)
AXLE_REGISTER(SaveNames)
AXLE_REGISTER(SaveMatching)
AXLE_REGISTER(CombinedPolicies)

}  // namespace axle
