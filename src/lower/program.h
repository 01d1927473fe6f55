// What a runtime compiles: a traced graph, its StableHLO text and its signature.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/mesh.h"
#include "ir/type.h"

namespace axle {

class Region;

/// One argument or result: a leaf of the traced function's trees.
struct ProgramValue {
  std::string name;
  Type type;
  /// Over the axes of the program's mesh; empty dims mean replicated.
  PartitionSpec sharding = {};
  /// Of an argument: the result that takes over its buffer; -1 means that the argument is kept.
  int donated_to = -1;
};

struct Program {
  std::string name;
  std::shared_ptr<const Region> graph;  // for the interpreter; nullptr if only the text is known
  std::string text;  // StableHLO; without locations it is the key of the compile cache
  std::vector<ProgramValue> inputs;
  std::vector<ProgramValue> outputs;
  Mesh mesh = {};  // no axes: one device
};

}  // namespace axle
