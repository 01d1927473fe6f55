// Config trees: plain aggregates made walkable by one line, AXLE_CONFIG(Owner, fields...).
//
// A header of a module needs describe, Child, Fn and Required. Generic code also needs print, set,
// walk and replace. JSON and YAML are separate: config/document/serialize.h.
#pragma once

#include "config/axle_config.h"
#include "config/config_ref.h"
#include "config/document/print.h"
#include "config/fields/any_config.h"
#include "config/fields/child.h"
#include "config/fields/fn.h"
#include "config/fields/named_map.h"
#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "config/find_slot.h"
#include "config/missing.h"
#include "config/register.h"
#include "config/registry.h"
#include "config/replace.h"
#include "config/scope.h"
#include "config/set.h"
#include "config/walk.h"
