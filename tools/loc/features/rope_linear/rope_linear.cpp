// Rotary position embeddings in every attention, with Linear frequencies.
#include "world/experiment.h"

using namespace axle;

void add_rope_linear(ConfigRef world) {
  wrap<QKV>(world, RoPE::Config{.frequencies = LinearFrequencies{.factor = 2}},
            &RoPE::Config::inner);
}
AXLE_REGISTER(add_rope_linear, "rope_linear")
