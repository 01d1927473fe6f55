// Low-rank adapters beside every weight, by the modifier of the library.
#include "world/experiment.h"

using namespace axle;

void add_lora(ConfigRef world) { modify_each(world, Lora::Config{.rank = 2, .alpha = 4}); }
AXLE_REGISTER(add_lora, "lora")
