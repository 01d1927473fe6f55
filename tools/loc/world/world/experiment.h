// A world: all experiments of an organisation, one for each pair of a model and an attention class.
#pragma once

#include <axle/axle.h>

#include <map>
#include <string>

/// What one experiment trains.
struct Experiment {
  /// The model.
  axle::Child<axle::Model> model = {};
  /// How it learns.
  axle::Child<axle::Learner> learner = axle::Learner::Config{};
  AXLE_CONFIG(Experiment, model, learner)
};

/// Experiments by name. A feature rewrites all of them at once.
struct World {
  /// Experiments by name.
  std::map<std::string, Experiment> experiments = {};
  AXLE_CONFIG(World, experiments)
};

/// Reads a world from a file in JSON or YAML. Throws ConfigError.
World read_world(const std::string& path);

/// Applies a modifier of the library to every experiment. Throws ConfigError if it finds nothing to
/// change in one of them.
void modify_each(axle::ConfigRef world, const axle::Child<axle::Modifier>& modifier);

/// A feature that changes a world: a function registered by AXLE_REGISTER(function, "name").
using Feature = void(axle::ConfigRef world);
