// Traces a function over named tensors and lowers it to a program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/hlo_builder.h"
#include "ir/tensor.h"
#include "ir/type.h"
#include "transform/taps/taps.h"
#include "transform/trace.h"

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

/// Traces `fn` over the inputs and lowers it. `outputs` names the results of `fn` in order. It is
/// read after `fn` has returned, so `fn` may append outputs while it is traced. Throws like
/// lower().
///
/// With `prints`, the values of debug_print become further outputs, and `prints` describes them.
/// Without it, and for all other taps, they are ignored.
Program trace_program(std::string name, const TensorFunction& fn, std::vector<ProgramValue> inputs,
                      const std::vector<ProgramValue>& outputs, const Mesh& mesh = {},
                      std::vector<CollectedTap>* prints = nullptr);

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
