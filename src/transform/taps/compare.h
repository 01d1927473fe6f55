// Comparison of two programs that should compute the same: one program on two runtimes, in two
// dtypes, or before and after a change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transform/taps/observe.h"

namespace axle {

/// A program, and how it runs with its arguments.
struct ComparedProgram {
  const Region& region;
  RunRegion run;
};
/// Returns a function that interprets a program with these arguments.
RunRegion interpreted(std::vector<HostTensor> arguments, const EvalOptions& options = {});

struct CompareOptions {
  /// Floats may differ by this share of the largest finite magnitude in either tensor. Other dtypes
  /// must be equal.
  double tolerance = 1e-5;
  /// Bytes of values that are fetched from each program at once.
  int64_t max_bytes = int64_t{64} << 20;
};

/// The first op whose operands agree and whose result differs.
struct Difference {
  std::string op, scope;
  /// For each loop and shard_map around the op, the outermost first: the index of the iteration or
  /// of the device.
  std::vector<int64_t> iterations;
  size_t result = 0;    // which result of the op
  double largest = 0;   // largest difference; infinity if only one of the numbers is finite
  Shape position = {};  // where. Complex numbers have a last dim: 0 real, 1 imaginary
  double a = 0, b = 0;  // the numbers there
  std::vector<OperandStatistics> operands_a, operands_b;
  Statistics result_a, result_b;
};

struct Comparison {
  std::optional<Difference> first;  // none: all values that both programs have agree
  /// Ops that the programs do not have equally often, one line for each kind. Not compared.
  std::vector<std::string> unmatched;
};
std::string to_text(const Comparison& comparison);

/// Compares the results of all ops, in their order, until one differs; then those in the bodies of
/// that op, down to a single op and iteration. Fetches the values in chunks.
///
/// Ops correspond if they are the same kind in the same layer path with results of the same dims,
/// and each program has equally many of them: the first to the first, and so on.
Comparison compare(const ComparedProgram& a, const ComparedProgram& b,
                   const CompareOptions& options = {});

}  // namespace axle
