// All transforms and ops with a body: derivatives, loops, branches, remat, vmap, shard_map.
#pragma once

#include "transform/call.h"
#include "transform/cond.h"
#include "transform/custom_vjp.h"
#include "transform/grad.h"
#include "transform/remat.h"
#include "transform/scan.h"
#include "transform/shard_map.h"
#include "transform/vmap.h"
#include "transform/while_loop.h"
