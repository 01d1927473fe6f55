// Compares regions by what they compute.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns a hash of the region's parameters, ops and results: types, attributes, wiring and nested
/// regions. Layer paths, phases and names of parameters do not count. It is the same in every
/// process.
uint64_t structure_hash(const Region& region);

/// True if both regions have the same ops in the same order, with equal attributes, types and
/// wiring. What structure_hash leaves out does not count here either.
bool same_structure(const Region& a, const Region& b);

}  // namespace axle
