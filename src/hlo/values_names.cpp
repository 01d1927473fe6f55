// HloValues::op_name: the name of a value, taken from the instruction that makes it.
#include <algorithm>

#include "hlo/op_name.h"
#include "hlo/values.h"

namespace axle {
namespace {

// Names are found after few steps. The bound ends the search through sums of sums of unnamed
// values, which could take exponential time.
constexpr int kMostSteps = 2'000;

}  // namespace

// Returns the value that makes `v`. It goes one step back as step() does, but also into the body of
// a loop and to the update of a dynamic-update-slice (a layer that is written into a stack).
std::optional<HloValues::Value> HloValues::maker(const Value& v) const {
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

const std::string* HloValues::own_name(Value v, int& steps_left,
                                       const std::string*& of_passage) const {
  while (steps_left-- > 0) {
    const std::string& name = at(v).op_name;
    if (!name.empty()) {
      if (!std::ranges::all_of(places_of(name), is_passage)) return &name;
      if (!of_passage) of_passage = &name;
    }
    auto next = maker(v);
    if (!next) break;
    v = std::move(*next);
  }
  if (steps_left <= 0 || !v.elements.empty()) return nullptr;
  // The value is computed, for example a sum over the loop's iterations: an operand gives the name.
  for (const size_t operand : at(v).operands) {
    const Value from{v.computation, operand};
    if (at(from).opcode == "constant") continue;
    if (const std::string* name = own_name(from, steps_left, of_passage)) return name;
  }
  return nullptr;
}

const std::string& HloValues::op_name(size_t computation, size_t instruction) const {
  static const std::string kNone;
  const std::string* of_passage = nullptr;
  int steps_left = kMostSteps;
  const std::string* own = own_name({computation, instruction}, steps_left, of_passage);
  return own ? *own : of_passage ? *of_passage : kNone;
}

}  // namespace axle
