// All transforms and ops with a body: derivatives, loops, branches, remat, vmap, shard_map, linear
// algebra, and the random numbers that need loops.
#pragma once

#include "transform/call.h"
#include "transform/control_flow/cond.h"
#include "transform/control_flow/scan.h"
#include "transform/control_flow/sequential_map.h"
#include "transform/control_flow/while_loop.h"
#include "transform/custom_vjp.h"
#include "transform/grad.h"
#include "transform/linalg/cholesky.h"
#include "transform/linalg/eigh.h"
#include "transform/linalg/norm.h"
#include "transform/linalg/qr.h"
#include "transform/linalg/solve.h"
#include "transform/linalg/triangular_solve.h"
#include "transform/random/counts.h"
#include "transform/random/gamma.h"
#include "transform/random/matrices.h"
#include "transform/remat/remat.h"
#include "transform/shard_map/shard_map.h"
#include "transform/vmap.h"
