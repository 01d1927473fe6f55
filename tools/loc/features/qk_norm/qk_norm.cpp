// Norms of queries and keys in every attention.
#include "world/experiment.h"

using namespace axle;

void add_qk_norm(ConfigRef world) {
  wrap<QKV>(world, NormedQKV::Config{}, &NormedQKV::Config::inner);
}
AXLE_REGISTER(add_qk_norm, "qk_norm")
