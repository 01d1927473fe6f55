// Graph -> StableHLO text in the generic form, with Shardy meshes and shardings.
#pragma once

#include <string>

#include "ir/tensor.h"
#include "lower/program.h"

namespace axle {

struct LowerOptions {
  /// Write loc(...) with layer paths, which XLA shows as op names in profiles and errors.
  bool locations = true;
};

/// The module text of a traced graph. `inputs` and `outputs` name the region's parameters and
/// results in order and give their shardings over `mesh`.
std::string lower_to_stablehlo(const Region& graph, const std::string& name,
                               const std::vector<ProgramValue>& inputs,
                               const std::vector<ProgramValue>& outputs, const Mesh& mesh,
                               const LowerOptions& options = {});

/// A program from a traced graph. Throws ConfigError for a sharding that names unknown mesh axes.
Program lower(std::shared_ptr<const Region> graph, std::string name,
              std::vector<ProgramValue> inputs, std::vector<ProgramValue> outputs, Mesh mesh = {},
              const LowerOptions& options = {});

/// The text without locations: what compile caches are keyed by.
std::string without_locations(const std::string& text);

}  // namespace axle
