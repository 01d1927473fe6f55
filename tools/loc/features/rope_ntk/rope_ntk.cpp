// Rotary position embeddings in every attention, with NTK frequencies.
#include "world/experiment.h"

using namespace axle;

void add_rope_ntk(ConfigRef world) {
  wrap<QKV>(world, RoPE::Config{.frequencies = NTKFrequencies{.factor = 2}}, &RoPE::Config::inner);
}
AXLE_REGISTER(add_rope_ntk, "rope_ntk")
