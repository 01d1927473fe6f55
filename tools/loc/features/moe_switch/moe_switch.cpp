// Four experts in place of every feed-forward layer, chosen by SwitchRouter.
#include "world/experiment.h"

using namespace axle;

void add_moe_switch(ConfigRef world) {
  const Child<Router> router = SwitchRouter::Config{};
  replace_config<FeedForward>(world, MoE::Config{.num_experts = 4, .router = router});
}
AXLE_REGISTER(add_moe_switch, "moe_switch")
