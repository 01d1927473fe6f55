// The state that a run starts from.
#pragma once

#include <optional>

#include "runtime/runtime.h"
#include "train/programs.h"

namespace axle {

/// Returns the arrays of `leaves` (train_state). The seed initialises all values that `given` does
/// not hold. `given` holds values by path: all parameters ("model/..."), and either all or none of
/// the layer state ("state/model/...").
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, const std::optional<Tree<HostTensor>>& given, Runtime& runtime,
                     const CompileOptions& options);

}  // namespace axle
