// Data that changes its layout between devices although nobody asked for it.
#pragma once

#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "ir/tensor.h"

namespace axle {

/// One line for each place where data moves unasked, the most bytes first. What may be asked for:
/// an all-gather of an argument of the program, whose sharding says that it is to be gathered; an
/// all-gather or all-to-all that gives a value the layout of a sharding_constraint on it. Permutes
/// are not, but for those with which XLA overlaps a gather and the product behind it.
/// `graph` is the program's before it was compiled for `mesh`.
std::vector<std::string> resharding_warnings(const std::vector<Collective>& all,
                                             const Region& graph, const Mesh& mesh);

}  // namespace axle
