// The program that a runtime compiles: a traced graph, its StableHLO text and its signature.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/lowering_target.h"
#include "ir/type.h"

namespace axle {

class Region;

/// One argument or result of a program: a leaf of the traced function's trees.
struct ProgramValue {
  std::string name;
  Type type;
  /// Sharding over the axes of the program's mesh; dims without axes are replicated.
  PartitionSpec sharding = {};
  /// For a donated argument, the index of the result that reuses its buffer; -1: not donated.
  int donated_to = -1;
};

struct Program {
  std::string name;
  std::shared_ptr<const Region> graph;  // for the interpreter; nullptr if only the text is known
  std::string text;  // StableHLO; the key of the compile cache covers it without its locations
  std::vector<ProgramValue> inputs;
  std::vector<ProgramValue> outputs;
  Mesh mesh = {};  // no axes: one device
  /// True if the text would differ for a known target. A runtime then lowers the program again for
  /// its own platform (lowered_for).
  bool depends_on_target = false;
  /// What lowering chose for its target.
  std::vector<LoweringChoice> choices = {};
};

}  // namespace axle
