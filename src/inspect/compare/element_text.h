// Elements of tensors as people and programs read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ir/host_tensor.h"

namespace axle {

/// Writes element i in row-major order with the digits that tell it from all others of its dtype:
/// "0.1", "-3", "nan", "1-2i". NaNs have no sign.
std::string element_text(const HostTensor& x, int64_t i);
/// Writes the type and up to `max_values` elements: "f32[3] {1, 2, nan}".
std::string tensor_text(const HostTensor& x, int64_t max_values);

/// Returns element i as the exact number, as true or false, or as "nan", "inf" or "-inf". A complex
/// number is [real, imaginary].
nlohmann::ordered_json element_json(const HostTensor& x, int64_t i);

}  // namespace axle
