// Rotary position embeddings in every attention, with YaRN frequencies.
#include "world/experiment.h"

using namespace axle;

void add_rope_yarn(ConfigRef world) {
  wrap<QKV>(world, RoPE::Config{.frequencies = YaRNFrequencies{.factor = 4, .original_len = 4}},
            &RoPE::Config::inner);
}
AXLE_REGISTER(add_rope_yarn, "rope_yarn")
