// Gives verify_phases the joint region of a function, with one op after the other in the wrong
// phase.
#include "transform/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/value_map.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "testing/error_of.h"
#include "transform/control_flow/control_flow.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

// A loop whose body is a remat, between a product and a sine.
Values layers(const Values& v) {
  const auto layer = [](const Values& x) { return Values{tanh(dot(x[0], x[1]))}; };
  const auto step = [&](const Values& carry, const Values&) {
    return ScanResult{remat(layer, {carry[0], v[1]}, save_nothing()), {}};
  };
  return {sin(scan(step, {dot(v[0], v[1])}, {}, 3).carry[0])};
}

Joint joint_of_layers() {
  const Type square{DType::kF32, {4, 4}};
  return make_joint(*trace(layers, {square, square}), {true, true}, {true});
}
std::string fault(const Joint& joint) {
  return error_of<InternalError>(
      [&] { verify_phases(*joint.region, joint.num_parameters, joint.num_results); });
}
bool reads(const OpNode& op, const ValueSet& values) {
  return std::ranges::any_of(op.inputs, [&](const Tensor& t) { return values.contains(t); });
}

// Breaks a traced graph.
void set_phase(const OpNode& op, Phase phase) { const_cast<OpNode&>(op).phase = phase; }

TEST(JointRegion, ABackwardOpAmongTheForwardOnesIsFound) {
  const Joint joint = joint_of_layers();
  EXPECT_EQ(fault(joint), "no error");
  ValueSet backward(std::span(joint.region->parameters()).subspan(joint.num_parameters));
  size_t num_found = 0;
  for (const OpNode* op : joint.region->ops()) {
    if (op->phase == Phase::kForward) continue;
    // An op that reads forward values alone may be in either part.
    const bool is_wrong = reads(*op, backward);
    set_phase(*op, Phase::kForward);
    EXPECT_EQ(fault(joint) != "no error", is_wrong) << op->rules->name();
    num_found += is_wrong;
    set_phase(*op, Phase::kBackward);
    for (const Tensor& t : op->results()) backward.insert(t);
  }
  EXPECT_GE(num_found, 4u);
}

TEST(JointRegion, AForwardOpAmongTheBackwardOnesIsFound) {
  const Joint joint = joint_of_layers();
  size_t num_found = 0;
  for (const OpNode* op : joint.region->ops()) {
    if (op->phase == Phase::kBackward) continue;
    const ValueSet results(op->results());
    bool is_wrong = std::ranges::any_of(std::span(joint.region->results()).first(joint.num_results),
                                        [&](const Tensor& t) { return results.contains(t); });
    for (const OpNode* user : joint.region->ops())
      is_wrong = is_wrong || (user->phase == Phase::kForward && reads(*user, results));
    set_phase(*op, Phase::kBackward);
    EXPECT_EQ(fault(joint) != "no error", is_wrong) << op->rules->name();
    num_found += is_wrong;
    set_phase(*op, Phase::kForward);
  }
  EXPECT_GE(num_found, 3u);
}

}  // namespace
}  // namespace axle
