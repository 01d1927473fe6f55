#include "hlo/collective_order.h"

#include <algorithm>
#include <vector>

#include "hlo/collectives.h"

namespace axle {
namespace {

struct Communicating {
  size_t instruction;
  bool by_call;
};

// Returns, for each instruction of the computation, which of `all` it depends on.
std::vector<std::vector<bool>> needs(const HloComputation& computation,
                                     const std::vector<Communicating>& all) {
  std::vector<std::vector<bool>> out(computation.instructions.size(),
                                     std::vector<bool>(all.size()));
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    for (const size_t operand : computation.instructions[i].operands) {
      for (size_t k = 0; k < all.size(); ++k) {
        if (out[operand][k] || all[k].instruction == operand) out[i][k] = true;
      }
    }
  }
  return out;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> unordered_collectives(const HloModule& module) {
  const std::vector<bool> communicates = communicating_computations(module);
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const auto& instructions = module.computations[c].instructions;
    std::vector<Communicating> all;
    for (size_t i = 0; i < instructions.size(); ++i) {
      const bool by_call = std::ranges::any_of(instructions[i].called,
                                               [&](size_t callee) { return communicates[callee]; });
      if (by_call || !collective_kind(instructions[i].opcode).empty()) all.push_back({i, by_call});
    }
    if (std::ranges::none_of(all, &Communicating::by_call)) continue;
    const auto needed = needs(module.computations[c], all);
    for (size_t later = 0; later < all.size(); ++later) {
      for (size_t k = 0; k < later; ++k) {
        if (!all[k].by_call && !all[later].by_call) continue;
        if (!needed[all[later].instruction][k])
          return std::pair(instructions[all[k].instruction].name,
                           instructions[all[later].instruction].name);
      }
    }
  }
  return std::nullopt;
}

}  // namespace axle
