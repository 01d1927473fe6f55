// How the size of an update depends on the sizes of its parameter, besides the learning rate. A
// model that becomes wider needs to know (train/mup/).
#pragma once

#include "base/tree.h"
#include "nn/param.h"

namespace axle {

enum class UpdateKind {
  kElements,   // each element is about as large as the rate: Adam, Lion
  kGradient,   // in proportion to the gradient: Sgd
  kParameter,  // in proportion to the norm of the parameter: Lamb
  kSpectral,   // the singular values of each matrix are the rate times `gain`: Muon
};

struct UpdateSize {
  UpdateKind kind = UpdateKind::kElements;
  double gain = 1;
  bool operator==(const UpdateSize&) const = default;
};

/// Returns the same size for each parameter.
Tree<UpdateSize> update_sizes_of(const Tree<ParamSpec>& params, UpdateKind kind);

}  // namespace axle
