// Includes all modifiers of configs, for recipes.
#pragma once

#include "modifiers/chain.h"
#include "modifiers/modifier.h"
#include "modifiers/replace_class.h"
#include "modifiers/sequence_parallel.h"
#include "modifiers/set_fields.h"
#include "modifiers/set_mesh.h"
#include "modifiers/set_partition.h"
#include "modifiers/set_remat.h"
#include "modifiers/wrap_class.h"
