// The names that XLA gives its instructions, back to layers and ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Where an instruction comes from: our locations read "backward/<layer path>/<op>" or "<layer
/// path>/<op>" (lower/text_builder.cpp).
struct OpPlace {
  std::string layer;  // "model/decoder/layers/layer/attention/body"; empty: XLA made it up
  std::string op;     // "dot_general"
  bool backward = false;
  bool operator==(const OpPlace&) const = default;
};

/// The places in metadata's op_name, each once: XLA writes those of merged instructions as
/// "model/layer/(gate/dot:up/dot)" and several places of one as "model/reshape;model/scan". An
/// empty name has none.
std::vector<OpPlace> places_of(std::string_view op_name);

/// Whether a place is a loop, or a barrier that no layer has made: what XLA makes to stack, cut and
/// copy the values that pass through it is called like it.
bool is_passage(const OpPlace& place);

/// One text for the layers of all places: "model/layer/{gate, up}".
std::string layer_text(const std::vector<OpPlace>& places);
/// "dot_general" or "add + dot_general".
std::string op_text(const std::vector<OpPlace>& places);

}  // namespace axle
