// The form of a family with the adapters of a run.
#pragma once

#include <string>

#include "interop/forms/plain_model.h"

namespace axle {

/// Returns `form`, which a family builds, with the adapters (LoraProduct) of `model`, whose layers
/// are those of `form`. Throws ConfigError "<where>: ..." if layers of one stack have different
/// ones.
Child<Model> with_adapters(Child<Model> form, const PlainModel& model, const std::string& where);

}  // namespace axle
