#include "modifiers/set_mesh.h"

#include "config/register.h"
#include "modifiers/field_texts.h"

namespace axle {

std::vector<Rewrite> SetMesh::apply(ConfigRef root) const {
  const std::string mesh = to_text(cfg_.mesh.get());
  return {{"SetMesh " + mesh, set_texts(root, {{"mesh", mesh}}).fields}};
}

SetMesh::Config mesh(std::vector<MeshAxis> axes) { return {.mesh = Mesh{.axes = std::move(axes)}}; }

AXLE_REGISTER(SetMesh)

}  // namespace axle
