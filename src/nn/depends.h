// Which values the results of a trace need.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// True if some result is computed from `value`, a value of the region that is traced.
bool depend_on(const Values& results, const Tensor& value);

}  // namespace axle
