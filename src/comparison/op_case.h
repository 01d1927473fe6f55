// A case of `axle eval-op`: a function, its attributes, where its tensors come from, and how its
// results are compared. docs/eval_op.md describes the file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "comparison/functions/formula.h"
#include "comparison/tensor_comparison.h"
#include "ops/random/random.h"
#include "transform/shard_map/shard_map.h"
#include "transform/vmap.h"

namespace axle {

/// A tensor written in the case, or the name of one in the file of inputs.
struct CaseTensor {
  std::optional<HostTensor> value = {};
  std::string name = {};
  /// Changes of a tensor from the file: another shape of equal size, another dtype.
  std::optional<Shape> shape = {};
  std::optional<DType> dtype = {};
};

/// What an operand gets.
struct OperandSource {
  std::string name = {};  // empty: known by its position
  std::vector<CaseTensor> tensors = {};
  bool is_list = false;
};

struct OpCase {
  /// Beginning of the names of its tensors in files: "<name>/in0". Empty: "in0".
  std::string name = {};
  std::string where = {};  // "cases.yaml:12" or, with a name, "cases.yaml:12: roll", for messages
  Formula formula;
  /// None: in0, in1, ... of the file.
  std::optional<std::vector<OperandSource>> inputs = {};
  bool vjp = false;
  /// By output: "0" or "out0". Empty: ct0, ct1, ... of the file.
  std::map<std::string, CaseTensor> cotangents = {};
  std::optional<VmapOptions> vmap = {};
  std::optional<ShardMapOptions> shard_map = {};
  random::PrngOptions prng = {};
  /// None: that of the command.
  std::optional<ElementTolerance> tolerance = {};
  /// Result -> name in the reference, where it is not "<name>/<result>".
  std::map<std::string, std::string> expected = {};

  /// Returns the name of a tensor of this case in a file: "<name>/in0".
  std::string file_name(std::string_view tensor) const;
};

/// A case that is not run, and why.
struct BrokenCase {
  std::string name = {};
  Error error;
};

struct OpCases {
  std::string path = {};
  /// The file of inputs that the cases name, from the folder of their own file; empty: none.
  std::string inputs = {};
  std::vector<OpCase> cases = {};
  std::vector<BrokenCase> broken = {};
};

/// Reads a file of one case or of several under `cases:`. Cases that cannot be read, and those that
/// have the name of an earlier one, are broken. Throws ConfigError "<file>:<line>: ..." for a file
/// that is no list of cases.
OpCases read_op_cases(const std::string& path);

}  // namespace axle
