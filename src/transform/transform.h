// All transforms and ops with a body: derivatives, loops, branches, remat, vmap, shard_map, linear
// algebra, and the random numbers that need loops.
#pragma once

#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/kernel/kernels.h"
#include "transform/linalg/linalg.h"
#include "transform/ragged_map.h"
#include "transform/random/samplers.h"
#include "transform/remat/remat.h"
#include "transform/shard_map/shard_map.h"
#include "transform/vmap.h"
