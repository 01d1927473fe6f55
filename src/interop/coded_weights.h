// Weights that a model keeps as codes (QuantizedProduct), and the same weights as numbers.
#pragma once

#include "interop/model_folder.h"

namespace axle {

/// Returns the dtype of a stored tensor; none if there is no such tensor.
using StoredDType = std::function<std::optional<DType>(const std::string& path)>;
/// Returns `specs`, parameters of `model` by their paths, with weights in place of codes that are
/// not stored: in the dtype in which they are, else in f32.
Tree<ParamSpec> with_plain_weights(const Layer& model, Tree<ParamSpec> specs,
                                   const StoredDType& stored);
/// Replaces the weights among `parameters` that `model` keeps as codes. Returns how many.
int64_t encode_weights(const Layer& model, Tree<HostTensor>& parameters);
/// Replaces all codes of a model by weights in f32, and its products by plain ones. Returns how
/// many weights those are.
int64_t decode_weights(LoadedModel& model);

}  // namespace axle
