// The forward pass of one layer, cut out of a training step.
#pragma once

#include <string>

#include "lower/program.h"

namespace axle {

/// Returns a program of the forward ops of `layer` and the layers below. Its inputs are the values
/// that these ops take from elsewhere, its outputs those that others read. A layer in the body of a
/// loop gives one iteration. Throws ConfigError if the step has no forward op in the layer.
Program layer_program(const Program& step, const std::string& layer);

}  // namespace axle
