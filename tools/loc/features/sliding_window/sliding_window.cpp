// A query of every causal attention sees the two positions before its own.
#include "world/experiment.h"

using namespace axle;

void add_sliding_window(ConfigRef world) {
  replace_config<CausalMask>(world, SlidingWindowMask::Config{.window = 2});
}
AXLE_REGISTER(add_sliding_window, "sliding_window")
