#include "ir/op_rules.h"

#include <fmt/format.h>

#include "base/error.h"

namespace axle {
namespace {

std::vector<const OpRules*>& registry() {
  static auto* const rows = new std::vector<const OpRules*>;
  return *rows;
}

}  // namespace

OpRules::OpRules(OpRow row) : row_(std::move(row)) { registry().push_back(this); }
Values OpRules::no_gradient(X x, Y, Ct) { return Values(x.size()); }
const std::vector<const OpRules*>& all_ops() { return registry(); }

double operand_and_result_bytes(const OpNode& op) {
  size_t sum = 0;
  for (const Tensor& t : op.inputs) sum += t.type().num_bytes();
  for (const Type& t : op.outputs) sum += t.num_bytes();
  return static_cast<double>(sum);
}
double read_part_bytes(const OpNode& op) {
  const size_t part = op.outputs[0].num_bytes(), whole = op.inputs[0].type().num_bytes();
  return operand_and_result_bytes(op) - static_cast<double>(whole) + static_cast<double>(part);
}
double written_part_bytes(const OpNode& op) {
  const size_t whole = op.inputs[0].type().num_bytes() + op.outputs[0].num_bytes();
  return 2 * (operand_and_result_bytes(op) - static_cast<double>(whole));
}
double no_bytes(const OpNode&) { return 0; }

void shape_error(const OpNode& op, std::string_view what) {
  const OriginScope origin(op);
  shape_error(op.rules->name(), what, op.inputs);
}

void shape_error(std::string_view op, std::string_view what, const Values& operands) {
  const std::string* layer = NameScope::current();
  const std::string line = source_line(current_call_site());
  std::string described;
  for (const Tensor& t : operands) described += (described.empty() ? "" : ", ") + describe(t);
  throw ShapeError(fmt::format("{}: {}{}{}: {}{}{}", layer ? *layer : "the top level", op,
                               line.empty() ? "" : " at ", line, what,
                               described.empty() ? "" : "; operands: ", described));
}

}  // namespace axle
