// Products of 8-bit floats in every layer with a weight, by the modifier of the library.
#include "world/experiment.h"

using namespace axle;

void add_fp8(ConfigRef world) {
  modify_each(world, QuantizeProducts::Config{.with = Fp8Product::Config{}});
}
AXLE_REGISTER(add_fp8, "fp8")
