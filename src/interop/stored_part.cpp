#include "interop/stored_part.h"

#include <algorithm>

#include "base/tree.h"

namespace axle {
namespace {

const std::string kModel = "model/", kState = std::string(kLayerStatePath) + "/";

}  // namespace

std::optional<std::string> StoredPart::name_of(const std::string& stored,
                                               std::string_view prefix) const {
  const auto name_below = [&](const std::string& root) -> std::optional<std::string> {
    if (!stored.starts_with(root + part)) return std::nullopt;
    return kModel + stored.substr(root.size() + part.size());
  };
  if (!stored.starts_with(kState)) return name_below(std::string(prefix) + "/");
  const auto it = specs.lower_bound(kState);
  if (it == specs.end() || !it->first.starts_with(kState)) return std::nullopt;
  if (part.empty()) return stored;
  const auto name = name_below(kState + kModel);
  return name ? std::optional(kState + *name) : std::nullopt;
}

std::string path_in(const std::string& part, const std::string& path) {
  return kModel + part + path.substr(kModel.size());
}

bool keeps_layer_state(const Manifest& manifest, const std::string& part) {
  const std::string root = kState + (part.empty() ? "" : kModel + part);
  return std::ranges::any_of(manifest.tensors,
                             [&](const auto& tensor) { return tensor.first.starts_with(root); });
}

}  // namespace axle
