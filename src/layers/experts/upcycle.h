// Sparse upcycling: a mixture of experts that starts from a dense model.
//
// Source: Komatsuzaki et al. 2022, "Sparse Upcycling", arXiv 2212.05055, section 3.1.
#pragma once

#include <cstdint>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "nn/param.h"

namespace axle {

/// Makes the parameters of a mixture of experts, `specs`, from those of a dense model. A parameter
/// with the path and type of a dense one gets its value. One with the path of a dense one and a dim
/// more, which the mesh axis `expert` alone shards, gets a copy for each expert. Parameters whose
/// path the dense model lacks, such as those of routers, are drawn from the seed.
///
/// Throws ConfigError with a line for each parameter whose type fits neither way, and for each
/// dense parameter that is not used.
Tree<HostTensor> upcycled(const Tree<HostTensor>& dense, const Tree<ParamSpec>& specs,
                          int64_t seed);

}  // namespace axle
