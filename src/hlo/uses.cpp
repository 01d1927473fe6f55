#include "hlo/uses.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/lists.h"

namespace axle {
namespace {

// Chains of uses in a real program are much shorter.
constexpr int kDeepest = 500;

// True for ops that map each element of an operand to one element of the result, in some order.
// This holds only if the operand has as many elements as the result.
bool computes_each_element(std::string_view opcode) {
  static constexpr std::array kOpcodes = std::to_array<std::string_view>(
      {"abs", "add", "bitcast", "bitcast-convert", "convert", "copy", "divide", "maximum",
       "minimum", "multiply", "negate", "reduce-precision", "reshape", "select", "subtract",
       "transpose"});
  return std::ranges::find(kOpcodes, opcode) != kOpcodes.end();
}

// True for the halves of an asynchronous pair and for barriers, whose result is their operand.
bool is_half_of_pair(std::string_view opcode) {
  return opcode == "copy-start" || opcode == "copy-done" || opcode == "all-reduce-done" ||
         opcode == "optimization-barrier";
}

}  // namespace

HloUses::HloUses(const HloModule& module, const HloValueOrigins& values)
    : module_(module), origins_(values), users_(module.computations.size()) {
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const auto& instructions = module.computations[c].instructions;
    users_[c].resize(instructions.size());
    for (size_t i = 0; i < instructions.size(); ++i) {
      for (const size_t operand : instructions[i].operands) {
        auto& users = users_[c][operand];
        if (users.empty() || users.back() != i) users.push_back(i);
      }
    }
  }
}

const HloInstruction& HloUses::at(const Value& v) const {
  return module_.computations[v.computation].instructions[v.instruction];
}

int64_t HloUses::num_elements(const Value& v) const {
  const HloShape* shape = &at(v).shape;
  if (at(v).opcode == "copy-start" && v.elements.empty() && !shape->elements.empty())
    shape = &shape->elements[0];
  for (const int64_t i : Reversed(v.elements)) {
    if (i < 0 || i >= std::ssize(shape->elements)) return 0;
    shape = &shape->elements[i];
  }
  return shape->num_elements();
}

bool HloUses::takes_own_slice(const Value& v, size_t user) const {
  const HloInstruction& slice = module_.computations[v.computation].instructions[user];
  if (slice.operands[0] != v.instruction || slice.shape.num_elements() >= num_elements(v))
    return false;
  // A layer of a stack is sliced at a loop counter, a device's own part at an index that depends on
  // the device.
  return slice.operands.size() == 1 ||
         std::any_of(slice.operands.begin() + 1, slice.operands.end(), [&](size_t index) {
           return origins_.depends_on_device(v.computation, index);
         });
}

void HloUses::add_use(const Value& v, size_t user, std::vector<Use>& out) const {
  const HloInstruction& to = module_.computations[v.computation].instructions[user];
  const Value same{v.computation, user, v.elements};
  if (to.opcode == "get-tuple-element" && !v.elements.empty()) {
    if (v.elements.back() == to.tuple_index) {
      Value element = same;
      element.elements.pop_back();
      out.push_back({Use::kSame, std::move(element)});
    }
  } else if (to.opcode == "tuple" || runs_one_computation(to.opcode)) {
    for (size_t n = 0; n < to.operands.size(); ++n) {
      if (to.operands[n] != v.instruction) continue;
      if (to.opcode == "tuple") {
        Value element = same;
        element.elements.push_back(static_cast<int64_t>(n));
        out.push_back({Use::kSame, std::move(element)});
        continue;
      }
      const size_t callee = to.called.empty() ? module_.entry : to.called[0];
      const auto& inside = module_.computations[callee].instructions;
      const auto parameter = std::ranges::find_if(inside, [&](const HloInstruction& p) {
        return p.opcode == "parameter" && p.parameter_number == static_cast<int64_t>(n);
      });
      if (to.called.empty() || parameter == inside.end()) {
        out.push_back({Use::kWhole});
      } else {
        const auto position = static_cast<size_t>(parameter - inside.begin());
        out.push_back({Use::kSame, {callee, position, v.elements}});
      }
    }
  } else if (to.opcode == "dynamic-slice") {
    out.push_back({takes_own_slice(v, user) ? Use::kOwnSlice : Use::kWhole});
  } else if (to.opcode == "slice") {
    out.push_back({Use::kPart, same});
  } else if (is_half_of_pair(to.opcode) ||
             (computes_each_element(to.opcode) && num_elements(same) == num_elements(v))) {
    out.push_back({Use::kSame, same});
  } else {
    out.push_back({Use::kWhole});
  }
}

// The result of a computation becomes the result of the instruction that calls it.
void HloUses::add_result(const Value& root, std::vector<Use>& out) const {
  const auto caller = origins_.caller(root.computation);
  if (root.computation == module_.entry || !caller) {
    out.push_back({Use::kWhole});
    return;
  }
  auto [c, i] = *caller;
  const auto& instructions = module_.computations[c].instructions;
  if (!runs_one_computation(instructions[i].opcode)) {
    out.push_back({Use::kWhole});
    return;
  }
  while (instructions[i].opcode.starts_with("async-") && instructions[i].opcode != "async-done") {
    if (users_[c][i].size() != 1) return out.push_back({Use::kWhole});
    i = users_[c][i][0];
  }
  out.push_back({Use::kSame, {c, i, root.elements}});
}

std::vector<HloUses::Use> HloUses::uses_of(const Value& v) const {
  std::vector<Use> out;
  for (const size_t user : users_[v.computation][v.instruction]) add_use(v, user, out);
  if (module_.computations[v.computation].root == v.instruction) add_result(v, out);
  return out;
}

int64_t HloUses::sliced(const Value& v, int depth) {
  if (depth > kDeepest) return 0;
  if (const auto known = known_.find(v); known != known_.end()) return known->second;
  const std::vector<Use> uses = uses_of(v);
  const bool in_parts = !uses.empty() && std::ranges::all_of(uses, [](const Use& use) {
    return use.kind == Use::kPart;
  });
  int64_t parts = 0, least = uses.empty() ? 0 : num_elements(v);
  for (const Use& use : uses) {
    if (use.kind == Use::kOwnSlice) continue;
    const int64_t of_use = use.kind == Use::kWhole ? 0 : sliced(use.as, depth + 1);
    parts += of_use;
    least = std::min(least, of_use);
    if (least == 0 && !in_parts) break;
  }
  const int64_t out = in_parts ? std::min(parts, num_elements(v)) : least;
  known_.emplace(v, out);
  return out;
}

int64_t HloUses::sliced_elements(size_t computation, size_t instruction) {
  const Value whole{computation, instruction};
  const auto& elements = at(whole).shape.elements;
  if (elements.empty()) return sliced(whole, 0);
  int64_t out = 0;
  for (size_t i = 0; i < elements.size(); ++i)
    out += sliced({computation, instruction, {static_cast<int64_t>(i)}}, 0);
  return out;
}

}  // namespace axle
