// Config trees: plain aggregates made walkable by one line, AXLE_CONFIG(Owner, fields...).
//
// A module's header needs describe, Child, Fn and Required; generic code also print, set, walk,
// replace. JSON and YAML stand apart in config/serialize.h.
#pragma once

#include "config/any_config.h"
#include "config/child.h"
#include "config/config_ref.h"
#include "config/describe.h"
#include "config/fn.h"
#include "config/missing.h"
#include "config/named_map.h"
#include "config/print.h"
#include "config/ranged.h"
#include "config/register.h"
#include "config/registry.h"
#include "config/replace.h"
#include "config/required.h"
#include "config/scope.h"
#include "config/set.h"
#include "config/walk.h"
