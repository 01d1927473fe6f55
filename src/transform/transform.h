// All transforms and ops with a body: derivatives, loops, branches, remat, vmap, shard_map, linear
// algebra, and the random numbers that need loops.
#pragma once

#include "transform/call.h"
#include "transform/control_flow/cond.h"
#include "transform/control_flow/maps.h"
#include "transform/control_flow/scan.h"
#include "transform/control_flow/while_loop.h"
#include "transform/custom_vjp.h"
#include "transform/grad.h"
#include "transform/kernel/gated_silu.h"
#include "transform/kernel/kernel_call.h"
#include "transform/linalg/linalg.h"
#include "transform/ragged_map.h"
#include "transform/random/samplers.h"
#include "transform/remat/remat.h"
#include "transform/shard_map/shard_map.h"
#include "transform/vmap.h"
