// Names of mesh axes in a program: those that exist, each once, none of the mesh's own unused.
//
// A typing error in one would only mean that more devices do the same work.
#pragma once

#include "lower/program.h"

namespace axle {

/// Throws ConfigError where an input of the program is sharded over an axis that neither `mesh` nor
/// the recipes' meshes have, or where nothing is sharded over an axis of `mesh`.
void check_mesh(const Mesh& mesh, const std::vector<ProgramValue>& inputs);
/// The same for the layouts that layers ask for, which may also name an axis but once. Axes of the
/// mesh that none of them names are no error.
void check_constraints(const Mesh& mesh, const Region& graph);

}  // namespace axle
