// Four experts in place of every feed-forward layer, chosen by TopKRouter.
#include "world/experiment.h"

using namespace axle;

void add_moe_topk(ConfigRef world) {
  const Child<Router> router = TopKRouter::Config{.top_k = 3};
  replace_config<FeedForward>(world, MoE::Config{.num_experts = 4, .router = router});
}
AXLE_REGISTER(add_moe_topk, "moe_topk")
