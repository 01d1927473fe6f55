// A drawing of the forward pass of a training step: its layers and what flows between them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lower/stablehlo.h"

namespace axle {

/// Returns a graph in the language of graphviz. Its nodes are the layers with forward ops down to
/// `depth` (default: 2) below `layer`. Each shows its FLOPs, its moved bytes and the bytes kept for
/// the backward pass. An edge shows the bytes that one layer reads of another in one run. Throws
/// ConfigError if the step has no forward op in the layer.
std::string drawing(const Program& step, const std::string& layer,
                    const std::optional<int64_t>& depth);

/// Draws a graph into an SVG file by graphviz's program `dot`. Throws DeviceError if it is not
/// installed or fails.
void write_svg(const std::string& graph, const std::filesystem::path& file);

/// Returns a program of the forward ops of `layer` and the layers below. Its inputs are the values
/// that these ops take from elsewhere, its outputs those that others read. A layer in the body of a
/// loop is drawn as one iteration. Throws ConfigError if the step has no forward op in the layer.
Program layer_program(const Program& step, const std::string& layer);

}  // namespace axle
