// Initial values of single parameters, for models of which the others come from elsewhere.
#pragma once

#include <string>

#include "ir/host_tensor.h"
#include "nn/param.h"

namespace axle {

/// Draws the parameter as its spec says. The key derives from the seed and the path.
HostTensor draw_parameter(const std::string& path, const ParamSpec& spec, int64_t seed);

}  // namespace axle
