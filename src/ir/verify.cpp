#include "ir/verify.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/op_rules.h"
#include "ir/value_map.h"

namespace axle {

void verify(const Region& region) {
  ValueSet defined;
  const auto check_use = [&](const Tensor& t, std::string_view user) {
    AXLE_CHECK(
        t && defined.contains(t.node()->result()),
        fmt::format("{} uses {} which is not defined before it in its region", user, describe(t)));
    AXLE_CHECK(
        t.index() < t.node()->outputs.size(),
        fmt::format("{} uses result {} of {}", user, t.index(), describe(t.node()->result())));
  };
  for (const Tensor& p : region.parameters()) defined.insert(p);
  for (const OpNode* op : region.ops()) {
    for (const Tensor& t : op->inputs) check_use(t, op->rules->name());
    AXLE_CHECK(op->rules->row().infer(*op) == op->outputs,
               fmt::format("types of {} are not what it infers", op->rules->name()));
    for (const auto& inner : op->regions) verify(*inner);
    defined.insert(const_cast<OpNode*>(op)->result());
  }
  for (const Tensor& t : region.results()) check_use(t, "return");
}

}  // namespace axle
