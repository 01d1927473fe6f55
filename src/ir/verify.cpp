#include "ir/verify.h"

#include <fmt/format.h>

#include "base/environment.h"
#include "base/error.h"
#include "ir/op_rules.h"
#include "ir/value_map.h"

namespace axle {
namespace {

std::string list(const std::vector<Type>& types) {
  std::string out;
  for (const Type& type : types) out += (out.empty() ? "" : ", ") + to_text(type);
  return out.empty() ? "none" : out;
}

// The row of an op checks its operands and its regions when it infers the types of the results.
void check_types(const OpNode& op) {
  const OriginScope origin(op);
  std::vector<Type> inferred;
  try {
    inferred = op.rules->row().infer(op);
  } catch (const ShapeError& error) {
    throw InternalError(
        fmt::format("{} is not what its row takes: {}", op.rules->name(), error.what()));
  }
  AXLE_CHECK(inferred == op.outputs,
             fmt::format("types of {} are not what it infers: expected {}, got {}",
                         op.rules->name(), list(inferred), list(op.outputs)));
}

}  // namespace

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
    check_types(*op);
    for (const auto& inner : op->regions) verify(*inner);
    defined.insert(const_cast<OpNode*>(op)->result());
  }
  for (const Tensor& t : region.results()) check_use(t, "return");
}

void verify_phases(const Region& region, size_t num_parameters, size_t num_results) {
  ValueSet backward(std::span(region.parameters()).subspan(num_parameters));
  const auto check_use = [&](const Tensor& t, std::string_view user) {
    AXLE_CHECK(!backward.contains(t),
               fmt::format("{} is in the forward part and uses {}, which is in the backward part",
                           user, describe(t)));
  };
  for (OpNode* op : region.ops()) {
    if (op->phase == Phase::kBackward) {
      for (const Tensor& t : op->results()) backward.insert(t);
    } else {
      for (const Tensor& t : op->inputs) check_use(t, op->rules->name());
    }
  }
  for (const Tensor& t : std::span(region.results()).first(num_results)) check_use(t, "return");
}

namespace {
bool is_asked_to_verify() {
  static const bool asked = environment_variable("AXLE_VERIFY") == "1";
  return asked;
}
}  // namespace

void verify_if_asked(const Region& region) {
  if (is_asked_to_verify()) verify(region);
}

void verify_joint_if_asked(const Region& region, size_t num_parameters, size_t num_results) {
  if (!is_asked_to_verify()) return;
  verify(region);
  verify_phases(region, num_parameters, num_results);
}

}  // namespace axle
