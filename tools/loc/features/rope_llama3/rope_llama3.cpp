// Rotary position embeddings in every attention, with Llama3 frequencies.
#include "world/experiment.h"

using namespace axle;

void add_rope_llama3(ConfigRef world) {
  wrap<QKV>(world, RoPE::Config{.frequencies = Llama3Frequencies{.factor = 8, .original_len = 4}},
            &RoPE::Config::inner);
}
AXLE_REGISTER(add_rope_llama3, "rope_llama3")
