// Sets the device mesh.
#pragma once

#include "ir/devices/mesh.h"
#include "modifiers/modifier.h"

namespace axle {

/// Sets the field `mesh` of the root.
class SetMesh final : public Modifier {
 public:
  struct Config {
    /// Names and sizes of the axes in order, such as "data=-1,fsdp=8"; -1: all remaining devices.
    Required<Mesh> mesh = REQUIRED;
    AXLE_CONFIG(SetMesh, mesh)
  };
  SetMesh(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Shorthand for rules: mesh({{.name = "data", .size = -1}}).
SetMesh::Config mesh(std::vector<MeshAxis> axes);

}  // namespace axle
