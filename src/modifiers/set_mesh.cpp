#include "modifiers/set_mesh.h"

#include "config/register.h"
#include "modifiers/field_texts.h"

namespace axle {

std::vector<Rewrite> SetMesh::apply(ConfigRef root) const {
  return {{"SetMesh", set_texts(root, {{"mesh", to_text(cfg_.mesh.get())}}).fields}};
}

SetMesh::Config mesh(std::vector<MeshAxis> axes) { return {.mesh = Mesh{.axes = std::move(axes)}}; }

AXLE_REGISTER(SetMesh)

}  // namespace axle
