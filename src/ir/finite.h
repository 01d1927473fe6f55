// Host tensors without NaN and infinity.
#pragma once

#include <optional>
#include <string>

#include "base/tree.h"
#include "ir/host_tensor.h"

namespace axle {

/// True also for integers and predicates.
bool all_finite(const HostTensor& tensor);
/// The name of the first tensor that holds a NaN or an infinity.
std::optional<std::string> first_not_finite(const Tree<HostTensor>& tensors);

}  // namespace axle
