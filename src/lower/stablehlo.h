// Lowers a graph to StableHLO text in the generic form, with Shardy meshes and shardings.
#pragma once

#include <string>

#include "ir/tensor.h"
#include "lower/trace_program.h"

namespace axle {

/// Lowers a traced graph to a program. `inputs` and `outputs` name the region's parameters and
/// results in order and set their shardings over `mesh`. Ops carry loc(...) with their layer path,
/// which XLA shows as op name in profiles and errors. Throws ConfigError if a sharding has
/// too many dims, names an axis twice, or does not divide its value (check_partition).
Program lower(std::shared_ptr<const Region> graph, std::string name,
              std::vector<ProgramValue> inputs, std::vector<ProgramValue> outputs, Mesh mesh = {});

/// Returns the program lowered for `target`: with implementations of its kernels for that platform.
/// A program whose text suits one target only, or is the same for all, is returned as it is.
Program lowered_for(const Program& program, const LoweringTarget& target);

/// Returns the program with arguments that can be read again after it has run.
Program without_donation(Program program);

/// Returns the text without locations: what the key of the compile cache covers.
std::string without_locations(const std::string& text);

}  // namespace axle
