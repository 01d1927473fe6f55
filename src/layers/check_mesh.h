// Checks of the mesh axis names in a program: each name exists, no layout names an axis twice, and
// every axis of the mesh is used.
//
// Without these checks a misspelled axis name would only replicate work over more devices.
#pragma once

#include "lower/program.h"

namespace axle {

/// Throws ConfigError in each of these cases:
///   an input of the program is sharded over an axis that is neither in `mesh` nor in kMeshAxes;
///   no input is sharded over some axis of `mesh` of size > 1;
///   the role of an axis "<name>:<role>" is not in kMeshAxes.
void check_mesh(const Mesh& mesh, const std::vector<ProgramValue>& inputs);
/// Throws ConfigError if a sharding constraint in `graph` names an axis that is neither in `mesh`
/// nor in kMeshAxes, or names an axis twice. Axes of `mesh` that no constraint names are no error.
void check_constraints(const Mesh& mesh, const Region& graph);

}  // namespace axle
