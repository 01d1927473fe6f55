// The attributes that filters name by texts: xs | map(attribute="function.name").
#pragma once

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

/// Returns value[a][b] for the path "a.b"; numbers count elements. `fallback`, unless it is none,
/// stands for each part that is undefined.
Value attribute_path(Machine& machine, const Value& value, const Value& path,
                     const Value& fallback = {});

}  // namespace axle::jinja
