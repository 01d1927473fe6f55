// Checks host tensors for NaN and infinity.
#pragma once

#include <optional>
#include <string>

#include "base/tree.h"
#include "ir/host_tensor.h"

namespace axle {

/// True if no element is NaN or infinite; always true for integers and predicates.
bool all_finite(const HostTensor& tensor);
/// Returns the name of the first tensor that holds a NaN or an infinity; none if all are finite.
std::optional<std::string> first_non_finite(const Tree<HostTensor>& tensors);

}  // namespace axle
