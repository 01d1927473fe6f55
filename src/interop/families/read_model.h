// Models of other programs, read by the family that their config names.
#pragma once

#include "interop/foreign/foreign_config.h"
#include "interop/foreign/weight_map.h"
#include "interop/foreign_model.h"
#include "ir/dtype.h"

namespace axle {

/// Returns the model of the config with the parameters of `source`, which are of `dtype`, or f32
/// for f16, unless the options name another one.
///
/// Throws DataError for a family that is not known and weights that do not match the config
/// (WeightMap::read); ConfigError for fields that Axle does not know.
ImportedModel read_model(const ForeignConfig& config, const TensorSource& source, DType dtype,
                         const ReadOptions& options);

}  // namespace axle
