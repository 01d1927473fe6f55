// Random programs as text, for messages.
#pragma once

#include "testing/fuzz/ops.h"
#include "testing/fuzz/program.h"

namespace axle::testing::fuzz {

/// Writes one step a line: "v3 = dot(v0, v1) [0, 1, 2]". Captures stand after a bar. In a body, the
/// first `num_values` values are its arguments and captures.
inline std::string to_text(const Program& program, size_t num_values, int indent = 0) {
  const auto names = [](const std::vector<size_t>& values) {
    std::string out;
    for (const size_t v : values) out += fmt::format("{}v{}", out.empty() ? "" : ", ", v);
    return out;
  };
  std::string out;
  for (const Step& step : program.steps) {
    const std::string_view name =
        step.kind == Kind::kOp ? op_table()[step.op].name : name_of(step.kind);
    out += fmt::format("{:{}}v{}", "", indent, num_values);
    if (step.num_results() != 1) out += fmt::format("..v{}", num_values + step.num_results() - 1);
    out += fmt::format(" = {}({}", name, names(step.operands));
    if (!step.captures.empty()) out += " | " + names(step.captures);
    out += fmt::format(") [{}]\n", fmt::join(step.numbers, ", "));
    for (const Program& body : step.bodies)
      out += to_text(body, step.operands.size() + step.captures.size(), indent + 4);
    num_values += step.num_results();
  }
  return out + fmt::format("{:{}}return {}\n", "", indent, names(program.results));
}

inline std::string to_text(const Program& program) {
  return axle::to_text(program.parameters) + "\n" + to_text(program, program.parameters.size());
}

}  // namespace axle::testing::fuzz
