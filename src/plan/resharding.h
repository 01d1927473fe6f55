// Resharding that nobody asked for.
#pragma once

#include <optional>
#include <vector>

#include "hlo/collectives.h"
#include "ir/tensor.h"
#include "plan/compiler_findings.h"

namespace axle {

/// Returns a row for each place where data moves without being asked for, the most bytes first.
/// These are asked for:
///   an all-gather of an argument of the program, because its sharding requires the gather
///   an all-gather or all-to-all that gives a value the layout of a sharding_constraint on it
///   a collective-permute by which XLA overlaps a gather with the matrix product that uses it
///   a collective-permute over the mesh axis `pipeline`, from stage to stage
/// Other collective-permutes are reported. `graph` is the graph of the program that was compiled
/// for `mesh`.
std::vector<CollectiveRow> unasked_moves(const std::vector<Collective>& all, const Region& graph,
                                         const Mesh& mesh);
/// Returns the rows as one finding; none if there are no rows.
std::optional<Finding> moves_finding(const std::vector<CollectiveRow>& rows);

}  // namespace axle
