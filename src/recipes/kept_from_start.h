// What a run takes over from the model that it begins with, or from itself when it is resumed, and
// what no flag can change.
#pragma once

#include <string>
#include <vector>

#include "modifiers/preference_tuning.h"
#include "modifiers/products/lora.h"
#include "train/config/trainer_config.h"

namespace axle {

/// A modifier as a flag asks for it.
template <class Modifier>
struct FlagRequest {
  std::string flag;  // for messages
  typename Modifier::Config fields = {};
  std::vector<std::string> given = {};  // the fields that the flag names
};

/// Throws ConfigError where a flag asks for another rank, alpha or dropout than the adapters of
/// `start` have, which stay. `folder` is where they come from, for the message.
void check_adapters(Trainer::Config& start, const std::string& folder,
                    const FlagRequest<Lora>& wanted);
/// Throws ConfigError where --dtype asks for parameters of another dtype than those of the run that
/// it is to resume.
void check_dtype(const Trainer::Config& run, const std::string& folder, DType wanted);
/// Throws ConfigError where a flag asks for another PreferenceLM than the one of the run that it is
/// to resume.
void check_preference(const Trainer::Config& run, const std::string& folder,
                      const FlagRequest<PreferenceTuning>& wanted);

}  // namespace axle
