// The config of a model in the words of a family.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "interop/families/family.h"

namespace axle {

struct FamilyConfig {
  const Family* family = nullptr;
  /// The fields of a config.json: `architectures`, `model_type` and those of the family.
  nlohmann::ordered_json fields;
  /// The model that the family builds of them, which computes what the described one does.
  Child<Model> model;
};

/// Returns the config of the model in the family `model_type`; if that is empty, in the first one,
/// by name, that can describe it. `where` is the model's folder. Throws ConfigError "<where>: ..."
/// for a model that it cannot describe, with the family that comes nearest and the first field that
/// it has not, and for a family that does not exist.
FamilyConfig described(const Child<Model>& model, const std::string& model_type,
                       const std::string& where);

}  // namespace axle
