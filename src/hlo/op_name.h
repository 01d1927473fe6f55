// Maps the names of XLA's instructions back to layers and ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"

namespace axle {

/// The origin of an instruction. Our locations read "backward/<layer path>/<op>" or
/// "<layer path>/<op>" (lower/text_builder.cpp).
struct OpLocation {
  std::string layer;  // "model/decoder/layers/layer/attention/body"; empty: XLA made the name up
  std::string op;     // "dot_general"
  bool backward = false;
  bool operator==(const OpLocation&) const = default;
};

/// Returns the locations in the op_name of an instruction's metadata, without duplicates; none for
/// an empty name. XLA writes several locations in two ways:
///   "model/layer/(gate/dot:up/dot)"  for merged instructions
///   "model/reshape;model/scan"       for one instruction with several locations
std::vector<OpLocation> op_locations(std::string_view op_name);

/// True if a location is a loop, or a barrier that no layer has made. XLA also gives this name to
/// the instructions that it adds to stack, slice and copy the values passing through the loop or
/// barrier.
bool is_loop_or_barrier(const OpLocation& location);

/// Returns one text for the layers of all locations: "model/layer/{gate, up}".
std::string layer_text(const std::vector<OpLocation>& locations);
/// Returns one text for the ops of all locations: "dot_general" or "add + dot_general".
std::string op_text(const std::vector<OpLocation>& locations);

/// Returns one line per instruction: "  %name = bf16[4] add(%a, %b), op_name=...". It holds what
/// HloModule holds: constants other than scalar integers and most attributes are left out.
/// Computations come in the order in which they are called, callees first.
std::string print(const HloModule& module);

}  // namespace axle
