// The state that a run starts from.
#pragma once

#include <optional>

#include "runtime/runtime.h"
#include "train/programs.h"

namespace axle {

/// The arrays of `leaves` (train_state) as the seed draws them, or about what is given by its path:
/// all parameters ("model/..."), and all or nothing of what layers keep ("state/model/...").
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, const std::optional<Tree<HostTensor>>& given, Runtime& runtime,
                     const CompileOptions& options);

}  // namespace axle
