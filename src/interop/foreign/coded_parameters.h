// Weights of another program that a model keeps as codes (QuantizedProduct).
#pragma once

#include "interop/foreign/tensor_source.h"
#include "interop/foreign/weight_map.h"
#include "layers/products/quantized_product.h"

namespace axle {

/// The parts of a weight by their paths below the model, the names of the tensors that they are
/// from, and whether they stand for other numbers than those of the file.
struct CodesRead {
  Tree<HostTensor> parameters;
  std::vector<std::string> names;
  bool is_rounded = false;
};
/// Reads the weight of a product of a model at "model", one tensor at a time. `path` is that of the
/// weight below the model. The codes are the numbers of the file if the product's scheme holds
/// theirs. Otherwise the weight is rounded anew. `weight` is the spec of the weight, `rows` say
/// where it is. Throws as WeightMap::read does.
CodesRead read_codes(const QuantizedProduct& product, const std::string& path,
                     const ParamSpec& weight, const std::vector<WeightRow>& rows,
                     const TensorSource& source);

/// Returns the scheme that holds all tensors of a weight of this form; none if there are none, or
/// if one has no scheme, or rows that are not the inputs. The form's own scheme is no matter.
std::optional<CodeScheme> stored_scheme(const CodeForm& form, const std::string& path,
                                        const ParamSpec& weight, const std::vector<WeightRow>& rows,
                                        const TensorSource& source);

}  // namespace axle
