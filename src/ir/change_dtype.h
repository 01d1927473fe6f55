// Changes of dtype that lose no number to infinity.
#pragma once

#include <optional>
#include <string>

#include "ir/host_tensor.h"

namespace axle {

/// Returns the first number of `from` that is finite and is not in `to`, the same numbers in
/// another dtype; none if all stay finite. Takes a pass over `to`, and none if its dtype has the
/// range.
std::optional<double> first_too_large(const HostTensor& from, const HostTensor& to);
/// Returns "expected magnitudes up to 65504 for f16, got 70000; bf16 and f32 hold it".
std::string too_large_text(double number, DType dtype);
/// Returns the tensor in this dtype. Throws DataError "<where>: <too_large_text()>" if a finite
/// number becomes infinite.
HostTensor checked_astype(const HostTensor& tensor, DType dtype, const std::string& where);

}  // namespace axle
