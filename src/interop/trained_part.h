// The part of a model that training changes, where a frozen model stands beside it.
#pragma once

#include <string>

#include "layers/models/model.h"

namespace axle {

/// A model, and where its parameters lie in a larger one: below "model/<path>".
struct TrainedPart {
  Child<Model> config;
  std::string path = {};  // "policy/"; empty: the whole model
};
/// Returns the policy of a PreferenceLM, the student of a Distillation, and of a model within these
/// the same; another model as it is. `built` is the model of the config, if there is one already.
/// Throws ConfigError for a model that can't be built.
TrainedPart trained_part(Child<Model> config, const Model* built = nullptr);

}  // namespace axle
