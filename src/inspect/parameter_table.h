// A table of every parameter of a model, made without a device and without allocating parameters.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/config/trainer_config.h"

namespace axle {

struct ParameterRow {
  /// Path within the model: "decoder/output_norm/scale".
  std::string path;
  Type type;
  /// Mesh axes of each dim.
  std::vector<DimAxes> axes;
  /// "normal(0, 1.0 / fan_in)".
  std::string init;
  /// Factor of the weight decay, from the layer, the learner's names or the optimizer's patterns;
  /// none: none of them gives one, and the factor is 1.
  std::optional<double> weight_decay_scale;
};

struct ParameterTable {
  std::vector<ParameterRow> rows;  // sorted by path
  int64_t total_params = 0;
};

/// Builds the model, and nothing else. Throws ConfigError if something is missing in it or it can't
/// be built.
ParameterTable parameter_table(const Trainer::Config& config);

std::string to_text(const ParameterTable& table);
/// {params: {path: {shape, dtype, axes, init, weight_decay_scale}}, total_params}; axes: for each
/// dim null, a name, or a list of names; dtypes as NumPy calls them.
nlohmann::ordered_json to_json(const ParameterTable& table);

}  // namespace axle
