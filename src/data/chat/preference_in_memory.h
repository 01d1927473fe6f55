// Pairs of answers whose tokens are in memory.
#pragma once

#include "data/chat/learned_input.h"
#include "data/chat/preference_input.h"

namespace axle {

/// The rows of a PreferenceInput of few pairs.
class PreferenceInMemory final : public LearnedInput {
 public:
  /// Throws as PreferenceInput does.
  PreferenceInMemory(const PreferenceInput::Config& cfg, const Dims& dims, const Scope& scope);
};

}  // namespace axle
