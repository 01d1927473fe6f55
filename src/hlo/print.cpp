#include "hlo/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace axle {
namespace {

std::string called_text(const HloModule& module, const HloInstruction& instruction) {
  std::vector<std::string> names;
  for (const size_t i : instruction.called) names.push_back("%" + module.computations[i].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string line(const HloModule& module, const HloComputation& computation, size_t at) {
  const HloInstruction& instruction = computation.instructions[at];
  std::vector<std::string> operands;
  for (const size_t i : instruction.operands)
    operands.push_back("%" + computation.instructions[i].name);
  if (instruction.opcode == "parameter") operands = {std::to_string(instruction.parameter_number)};
  if (instruction.constant) operands = {std::to_string(*instruction.constant)};
  std::string out =
      fmt::format("  {}%{} = {} {}({})", at == computation.root ? "ROOT " : "", instruction.name,
                  to_text(instruction.shape), instruction.opcode, fmt::join(operands, ", "));
  const auto add = [&](std::string_view key, const auto& value) {
    out += fmt::format(", {}={}", key, value);
  };
  if (instruction.opcode == "get-tuple-element") add("index", instruction.tuple_index);
  if (!instruction.called.empty()) add("calls", called_text(module, instruction));
  if (!instruction.comparison.empty()) add("direction", instruction.comparison);
  if (!instruction.custom_call_target.empty())
    add("custom_call_target", fmt::format("\"{}\"", instruction.custom_call_target));
  if (!instruction.lhs_contracting.empty())
    add("lhs_contracting_dims", fmt::format("{{{}}}", fmt::join(instruction.lhs_contracting, ",")));
  if (instruction.known_trip_count) add("trip_count", *instruction.known_trip_count);
  if (instruction.channel_id) add("channel_id", instruction.channel_id);
  if (!instruction.op_name.empty()) add("op_name", fmt::format("\"{}\"", instruction.op_name));
  return out + "\n";
}

}  // namespace

std::string print(const HloModule& module) {
  std::string out = fmt::format("HloModule {}\n", module.name);
  for (size_t i = 0; i < module.computations.size(); ++i) {
    const HloComputation& computation = module.computations[i];
    out += fmt::format("\n{}%{} {{\n", i == module.entry ? "ENTRY " : "", computation.name);
    const auto& order = computation.sequence;
    for (size_t k = 0; k < computation.instructions.size(); ++k)
      out += line(module, computation, order.empty() ? k : order[k]);
    out += "}\n";
  }
  return out;
}

}  // namespace axle
