// Families of models: how the files of other programs describe a model, and name its weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interop/foreign/foreign_config.h"
#include "interop/foreign/weight_map.h"
#include "layers/models/model.h"

namespace axle {

/// A family that Hugging Face's `model_type` names. A constant of type FamilyRow registers it.
struct Family {
  /// "llama".
  std::string_view model_type;
  /// Returns the model that the fields describe, and reads all fields that bear on it. Throws
  /// DataError for a field of a value that Axle has no layer for.
  Child<Model> (*model)(const ForeignConfig& config);
  /// Returns the rows of all parameters that the model may have.
  std::vector<WeightRow> (*weights)(const ForeignConfig& config);
};

class FamilyRow {
 public:
  explicit FamilyRow(const Family& family);
  FamilyRow(const FamilyRow&) = delete;
  FamilyRow& operator=(const FamilyRow&) = delete;
};

/// Returns the family of the config. Throws DataError with the families that there are.
const Family& family_of(const ForeignConfig& config);

}  // namespace axle
