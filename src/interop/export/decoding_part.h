// The part of a trained model that other programs have a family for.
#pragma once

#include <string>

#include "base/report.h"
#include "interop/model_folder.h"

namespace axle {

/// Replaces a model beside a frozen one by the part of it that is trained (trained_part.h).
void take_trained_part(LoadedModel& loaded);
/// Replaces a model that only training needs by the part of it that decodes: the policy of a
/// PreferenceLM, the student of a Distillation, and the decoder of a MultiTokenLM, whose heads for
/// further tokens are reported as left out. Other models stay as they are. `where` names the model.
void take_decoding_part(LoadedModel& loaded, const std::string& where, const Report& report);

}  // namespace axle
