// What a run with adapters has trained besides them.
#pragma once

#include <set>
#include <string>

#include "interop/model_folder.h"

namespace axle {

/// Returns the parameters that the learner of a run with adapters (LoraProduct) has trained besides
/// them, by their paths below the model that it trains ("decoder/output_norm/scale"): see
/// trained_part.h. Of an import of adapters it is what peft has kept whole beside them; empty for
/// another import. Throws ConfigError for a
/// learner that can't be built.
std::set<std::string> also_trained(const LoadedModel& run, const std::string& where);

}  // namespace axle
