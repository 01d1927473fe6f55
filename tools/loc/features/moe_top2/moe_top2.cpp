// Four experts in place of every feed-forward layer, chosen by Top2Router.
#include "world/experiment.h"

using namespace axle;

void add_moe_top2(ConfigRef world) {
  const Child<Router> router = Top2Router::Config{};
  replace_config<FeedForward>(world, MoE::Config{.num_experts = 4, .router = router});
}
AXLE_REGISTER(add_moe_top2, "moe_top2")
