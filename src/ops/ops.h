// Includes all families of ops, for layer code.
#pragma once

#include "ops/annotate.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "ops/windows/windows.h"
