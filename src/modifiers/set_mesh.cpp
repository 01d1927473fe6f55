#include "modifiers/set_mesh.h"

#include "config/register.h"
#include "config/set.h"

namespace axle {

std::vector<Replaced> SetMesh::apply(ConfigRef root) const {
  return set(root, "mesh", to_text(cfg_.mesh.get()));
}

SetMesh::Config mesh(std::vector<MeshAxis> axes) { return {.mesh = Mesh{.axes = std::move(axes)}}; }

AXLE_REGISTER(SetMesh)

}  // namespace axle
