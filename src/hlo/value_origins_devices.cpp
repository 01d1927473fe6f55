// The part of HloValueOrigins about values that devices pass to each other or join from parts.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "hlo/value_origins.h"

namespace axle {
namespace {

constexpr int kMaxSteps = 10'000;

// True for ops that scale or cast each element of one operand.
bool is_elementwise(std::string_view opcode) {
  static constexpr std::array kOpcodes =
      std::to_array<std::string_view>({"divide", "multiply", "negate", "reduce-precision"});
  return std::ranges::find(kOpcodes, opcode) != kOpcodes.end();
}

bool is_permute(std::string_view opcode) { return opcode.starts_with("collective-permute"); }

}  // namespace

std::optional<std::pair<size_t, size_t>> HloValueOrigins::caller(size_t computation) const {
  const auto& value = callers_[computation];
  return value ? std::optional(std::pair(value->computation, value->instruction)) : std::nullopt;
}

bool HloValueOrigins::depends_on_device(size_t computation, size_t instruction) const {
  std::set<std::pair<size_t, size_t>> seen;
  std::vector<Value> open = {{computation, instruction}};
  while (!open.empty() && seen.size() < kMaxSteps) {
    const Value v = open.back();
    open.pop_back();
    if (!seen.emplace(v.computation, v.instruction).second) continue;
    const std::string& opcode = at(v).opcode;
    if (opcode == "partition-id" || opcode == "replica-id") return true;
    // The index of a dynamic-slice counts as well: it may look up a table by the device's number.
    auto next = opcode == "dynamic-slice" ? std::nullopt : step(v, false);
    if (next) {
      open.push_back(std::move(*next));
    } else if (opcode != "while" && opcode != "parameter") {
      for (const size_t operand : at(v).operands) open.push_back({v.computation, operand});
    }
  }
  return false;
}

// Goes one step back as step() does, but also through collective-permutes, and out of a loop that
// only passes the value on.
std::optional<HloValueOrigins::Value> HloValueOrigins::before_permute(const Value& v) const {
  const HloInstruction& instruction = at(v);
  if (is_permute(instruction.opcode) && !instruction.operands.empty())
    return Value{v.computation, instruction.operands[0]};
  if (auto next = step(v, true)) return next;
  if (instruction.opcode != "parameter" || v.elements.empty()) return std::nullopt;
  const auto& call = callers_[v.computation];
  if (!call || at(*call).opcode != "while" || at(*call).called[0] != v.computation)
    return std::nullopt;
  // The value that the loop body returns as this element for the next iteration.
  Value back{v.computation, module_.computations[v.computation].root, {v.elements.back()}};
  for (int i = 0; i < kMaxSteps && at(back).opcode != "parameter"; ++i) {
    auto next = is_permute(at(back).opcode) && !at(back).operands.empty()
                    ? std::optional(Value{back.computation, at(back).operands[0]})
                    : step(back, true);
    if (!next) return std::nullopt;
    back = std::move(*next);
  }
  if (back.computation != v.computation || back.elements != v.elements) return std::nullopt;
  return Value{call->computation, at(*call).operands[0], v.elements};
}

std::optional<HloValueOrigins::PermutedArgument> HloValueOrigins::permuted_argument(
    size_t computation, size_t instruction) const {
  Value v{computation, instruction};
  for (int i = 0; i < kMaxSteps; ++i) {
    if (at(v).opcode.starts_with("all-gather")) return std::nullopt;
    auto next = before_permute(v);
    if (!next) break;
    v = std::move(*next);
  }
  if (v.computation != module_.entry || at(v).opcode != "parameter" || !v.elements.empty())
    return std::nullopt;
  return PermutedArgument{at(v).parameter_number, at(v).shape.num_elements()};
}

bool HloValueOrigins::is_zeros(const Value& v) const {
  const std::string& opcode = at(origin(v, false)).opcode;
  return opcode == "broadcast" || opcode == "constant";
}

int64_t HloValueOrigins::elements_set_into_zeros(size_t computation, size_t instruction) const {
  Value v{computation, instruction};
  for (int i = 0; i < kMaxSteps; ++i) {
    const HloInstruction& now = at(v);
    const bool has_part = now.opcode == "dynamic-update-slice" && now.operands.size() > 1;
    if (has_part || (now.opcode == "pad" && !now.operands.empty())) {
      if (has_part && !is_zeros({v.computation, now.operands[0]})) return 0;
      const int64_t part = at({v.computation, now.operands[has_part ? 1 : 0]}).shape.num_elements();
      return part < now.shape.num_elements() ? part : 0;
    }
    auto next = step(v, false);
    if (!next && is_elementwise(now.opcode)) {
      const auto scaled = std::ranges::find_if(now.operands, [&](size_t operand) {
        return !is_zeros({v.computation, operand});
      });
      if (scaled != now.operands.end()) next = Value{v.computation, *scaled};
    }
    if (!next) return 0;
    v = std::move(*next);
  }
  return 0;
}

}  // namespace axle
