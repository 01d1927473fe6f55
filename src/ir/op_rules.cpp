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

void shape_error(const OpNode& op, std::string_view what) {
  std::string operands;
  for (const Tensor& t : op.inputs) operands += (operands.empty() ? "" : ", ") + describe(t);
  throw ShapeError(fmt::format("{}: {}: {}{}{}", op.scope ? *op.scope : "the top level",
                               op.rules->name(), what,
                               operands.empty() ? "" : "; operands: ", operands));
}

}  // namespace axle
