// Families of models: how the files of other programs describe a model, and name its weights.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "interop/foreign/foreign_config.h"
#include "interop/foreign/weight_map.h"
#include "interop/forms/plain_model.h"
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
  /// The class of its models there: "LlamaForCausalLM".
  std::string_view architecture = {};
  /// Returns the fields of a config.json that describe the model as far as the family can, also
  /// those whose default there is another one. Null: models of the family are read alone.
  nlohmann::ordered_json (*fields)(const PlainModel& model) = nullptr;
  /// Says which tensors belong to parts that Axle's model has not, and are left out. Null: none.
  bool (*is_left_out)(const ForeignConfig& config, const std::string& tensor) = nullptr;
  /// Says which tensors the family's layers compute themselves, such as a mask. Null: none.
  bool (*is_computed)(const std::string& tensor) = nullptr;
  /// True: its linear maps store [inputs, outputs], which programs must know to add to them.
  bool inputs_first = false;
};

class FamilyRow {
 public:
  explicit FamilyRow(const Family& family);
  FamilyRow(const FamilyRow&) = delete;
  FamilyRow& operator=(const FamilyRow&) = delete;
};

/// Returns the family of the config. Throws DataError with the families that there are.
const Family& family_of(const ForeignConfig& config);
/// Returns all of them by their names.
const std::map<std::string_view, Family>& families();

}  // namespace axle
