// The tensors of a checkpoint that belong to a model, or to a part of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/manifest.h"
#include "nn/param.h"

namespace axle {

/// What to load from a checkpoint: tensors of the model, or of the part of it at this path.
struct StoredPart {
  Tree<ParamSpec> specs;  // by the names in the part
  std::string part = {};  // TrainedPart::path

  /// Returns the name in the part of a stored tensor: a parameter below `prefix` and the part, or
  /// the state of a layer if the specs ask for any. none for all other tensors.
  std::optional<std::string> name_of(const std::string& stored, std::string_view prefix) const;
};

/// Returns the path in the whole model of a parameter of the part: "model/policy/decoder/..." of
/// "model/decoder/...".
std::string path_in(const std::string& part, const std::string& path);
/// Whether the checkpoint holds state of layers of the part.
bool keeps_layer_state(const Manifest& manifest, const std::string& part);

}  // namespace axle
