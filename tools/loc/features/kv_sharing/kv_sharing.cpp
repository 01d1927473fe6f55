// The second attention of every model uses the keys and values of the first.
//
// Source: Brandon et al. 2024, arXiv 2405.12981, section 3.
#include "world/experiment.h"

using namespace axle;

using Shared = SharedKVCache::Config;

void add_kv_sharing(ConfigRef world) {
  wrap<KVCache>(world, Shared{}, &Shared::inner, {.at = "**.attention0.*"});
  replace_config<KVCache>(world, BorrowedKVCache::Config{}, {.at = "**.attention1.*"});
  replace_config<QKV>(world, QueryOnly::Config{}, {.at = "**.attention1.*"});
}
AXLE_REGISTER(add_kv_sharing, "kv_sharing")
