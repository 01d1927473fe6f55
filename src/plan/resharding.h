// Warnings about resharding that nobody asked for.
#pragma once

#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "ir/tensor.h"

namespace axle {

/// Returns one line for each place where data moves without being asked for, the most bytes first.
/// These are asked for:
///   an all-gather of an argument of the program, because its sharding requires the gather
///   an all-gather or all-to-all that gives a value the layout of a sharding_constraint on it
///   a collective-permute by which XLA overlaps a gather with the matrix product that uses it
///   a collective-permute over the mesh axis `pipeline`, from stage to stage
/// Other collective-permutes are reported. `graph` is the graph of the program that was compiled
/// for `mesh`.
std::vector<std::string> resharding_warnings(const std::vector<Collective>& all,
                                             const Region& graph, const Mesh& mesh);

}  // namespace axle
