// A family of models: how its config.json and its tensors become Axle's, and back.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
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

struct FamilyConfig {
  const Family* family = nullptr;
  /// The fields of a config.json: `architectures`, `model_type` and the family's own.
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

/// Returns the specs of the parameters, and of the state that one of the rows names, by their paths
/// below the model.
Tree<ParamSpec> stored_tensors(const Model& model, const std::vector<WeightRow>& rows);
/// Takes the state out of `tensors`, which have the paths of stored_tensors(), and returns all
/// state of the model by its whole path: what `tensors` lack has its initial value.
Tree<HostTensor> take_layer_state(const Model& model, Tree<HostTensor>& tensors);

}  // namespace axle
