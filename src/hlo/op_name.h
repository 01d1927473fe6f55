// Mapping the names that XLA gives its instructions back to layers and ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// The origin of an instruction. Our locations read "backward/<layer path>/<op>" or
/// "<layer path>/<op>" (lower/text_builder.cpp).
struct OpPlace {
  std::string layer;  // "model/decoder/layers/layer/attention/body"; empty: XLA made the name up
  std::string op;     // "dot_general"
  bool backward = false;
  bool operator==(const OpPlace&) const = default;
};

/// Returns the places in the op_name of an instruction's metadata, without duplicates; none for an
/// empty name. XLA writes several places in two ways:
///   "model/layer/(gate/dot:up/dot)"  for merged instructions
///   "model/reshape;model/scan"       for one instruction with several places
std::vector<OpPlace> places_of(std::string_view op_name);

/// True for a loop, and for a barrier outside all layers. XLA also gives their names to the copies
/// and slices that it adds around them.
bool is_passage(const OpPlace& place);

/// Returns one text for the layers of all places: "model/layer/{gate, up}".
std::string layer_text(const std::vector<OpPlace>& places);
/// Returns one text for the ops of all places: "dot_general" or "add + dot_general".
std::string op_text(const std::vector<OpPlace>& places);

}  // namespace axle
