// Config trees: plain aggregates made walkable by one line, AXLE_CONFIG(Owner, fields...).
//
// A header of a module needs fields.h, its source register.h. Generic code also needs print, set,
// walk and replace. JSON and YAML are separate: serialize.h.
#pragma once

#include "config/config_type.h"
#include "config/fields.h"
#include "config/missing.h"
#include "config/print.h"
#include "config/register.h"
#include "config/registry.h"
#include "config/replace.h"
#include "config/set.h"
#include "config/walk.h"
