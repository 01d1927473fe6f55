// HloValueOrigins::op_name: the name of a value, taken from the instruction that makes it.
#include <algorithm>

#include "hlo/op_name.h"
#include "hlo/value_origins.h"

namespace axle {
namespace {

// Names are found after few steps. The bound ends the search through sums of sums of unnamed
// values, which could take exponential time.
constexpr int kMaxSteps = 2'000;

}  // namespace

// Returns the value that makes `v`. It goes one step back as step() does, but also into the body of
// a loop and to the update of a dynamic-update-slice (a layer that is written into a stack).
std::optional<HloValueOrigins::Value> HloValueOrigins::producer(const Value& v) const {
  const HloInstruction& instruction = at(v);
  if (instruction.opcode == "while" && !v.elements.empty() &&
      !unchanged_by_loop(instruction, v.elements.back())) {
    const size_t body = instruction.called[0];
    return Value{body, module_.computations[body].root, v.elements};
  }
  if (instruction.opcode == "dynamic-update-slice" && instruction.operands.size() > 1)
    return Value{v.computation, instruction.operands[1], v.elements};
  return step(v, true);
}

const std::string* HloValueOrigins::nearest_name(Value v, int& steps_left,
                                                 const std::string*& of_loop_or_barrier) const {
  while (steps_left-- > 0) {
    const std::string& name = at(v).op_name;
    if (!name.empty()) {
      if (!std::ranges::all_of(op_locations(name), is_loop_or_barrier)) return &name;
      if (!of_loop_or_barrier) of_loop_or_barrier = &name;
    }
    auto next = producer(v);
    if (!next) break;
    v = std::move(*next);
  }
  if (steps_left <= 0 || !v.elements.empty()) return nullptr;
  // The value is computed, for example a sum over the loop's iterations: an operand gives the name.
  for (const size_t operand : at(v).operands) {
    const Value from{v.computation, operand};
    if (at(from).opcode == "constant") continue;
    if (const std::string* name = nearest_name(from, steps_left, of_loop_or_barrier)) return name;
  }
  return nullptr;
}

const std::string& HloValueOrigins::op_name(size_t computation, size_t instruction) const {
  static const std::string kNone;
  const std::string* of_loop_or_barrier = nullptr;
  int steps_left = kMaxSteps;
  const std::string* own = nearest_name({computation, instruction}, steps_left, of_loop_or_barrier);
  return own ? *own : of_loop_or_barrier ? *of_loop_or_barrier : kNone;
}

}  // namespace axle
