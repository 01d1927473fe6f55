// The flag that names the dtype of parameters.
#pragma once

#include <optional>
#include <string>

#include "ir/dtype.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// Adds --dtype bf16|f32, which writes to `target`.
void add_dtype(CLI::App& app, std::optional<DType>& target, const std::string& help);

}  // namespace axle::cli
