// Random programs as values: a generator makes them, a builder emits them as ops in several ways,
// and a shrinker makes them smaller.
//
// Every Program can be built, with any numbers. An operand is a number that is taken modulo
// the number of values, and each step converts its operands to the types that it needs. So the
// shrinker may remove and change anything.
//
// A line of a printed program is a step: its result, its operands, its captures after the bar, and
// its numbers. Below stand the lines of its bodies:
//   v6..v7 = scan(v4, v1, v5, v5 | v1) [3, 3, 4]
//       v5 = dynamic roll(v2, v3) [1, 5, 10]
//       return v5, v4
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "ir/tensor.h"

namespace axle::testing::fuzz {

/// What a step does. kOp calls one function of the table of ops.h. kCollective stands in bodies of
/// shard_map, also below constructs there that all devices enter together. kHook calls a function
/// that a test passes. The others have bodies.
enum class Kind : uint8_t {
  kOp,
  kCollective,
  kHook,
  kScan,
  kCond,
  kRemat,
  kCustomVjp,
  kCall,
  kVmap,
  kShardMap,
  kWhile,
  kGradient
};
inline constexpr int kNumKinds = 12;

inline std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[kNumKinds] = {"op",   "collective", "hook",       "scan",
                                                  "cond", "remat",      "custom_vjp", "call",
                                                  "vmap", "shard_map",  "while",      "gradient"};
  return kNames[static_cast<size_t>(kind)];
}

struct Step;

/// Values are numbered: the parameters first, then the results of the steps. The parameters of a
/// body are the arguments of its step, then its captures.
struct Program {
  std::vector<Type> parameters = {};  // of the whole program; empty in bodies
  std::vector<Step> steps = {};
  std::vector<size_t> results = {};  // at least one
};

struct Step {
  Kind kind = Kind::kOp;
  size_t op = 0;                      // kOp: the row of the table
  std::vector<size_t> operands = {};  // values
  std::vector<size_t> captures = {};  // values that the bodies use as outer tensors
  std::vector<int64_t> numbers = {};  // axes, lengths, policies, ...: any number is valid
  std::vector<Program> bodies = {};

  int64_t number(size_t i) const { return i < numbers.size() ? numbers[i] : 0; }
  /// The number of results.
  size_t num_results() const { return bodies.empty() ? 1 : bodies[0].results.size(); }
};

/// Returns the number of steps, those of bodies too.
inline size_t num_steps(const Program& program) {
  size_t n = 0;
  for (const Step& step : program.steps) {
    ++n;
    for (const Program& body : step.bodies) n += num_steps(body);
  }
  return n;
}

/// True if the step is of this kind, or a body of it has one.
inline bool has(const Step& step, Kind kind) {
  if (step.kind == kind) return true;
  for (const Program& body : step.bodies) {
    for (const Step& inner : body.steps) {
      if (has(inner, kind)) return true;
    }
  }
  return false;
}
/// True if the program or a body of it has a step of this kind.
inline bool has(const Program& program, Kind kind) {
  for (const Step& step : program.steps) {
    if (has(step, kind)) return true;
  }
  return false;
}

}  // namespace axle::testing::fuzz
