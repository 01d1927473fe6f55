#include "transform/remat/remat.h"

#include "base/lists.h"
#include "ops/annotate.h"
#include "transform/batch_region.h"
#include "transform/body.h"
#include "transform/linearize.h"
#include "transform/remat/divide.h"

namespace axle {
namespace {

struct RematAttributes : Attributes {
  RematAttributes(RematPolicy p, bool c) : policy(std::move(p)), prevent_cse(c) {}
  RematPolicy policy;
  bool prevent_cse;
  std::string text() const override { return policy.text + (prevent_cse ? ", barrier" : ""); }
};

// The policies of the remats whose bodies this thread is differentiating, outermost first.
thread_local std::vector<const ResidualPolicy*> enclosing;

// What the remats around the current one do with a value.
Residual outer_decision(const OpNode& op) {
  Residual most = Residual::kRecompute;
  for (const ResidualPolicy* policy : enclosing) {
    const Residual own = (*policy)(op);
    if (own == Residual::kSave) return own;
    if (own == Residual::kOffload) most = own;
  }
  return most;
}

Joint joint_of(const OpNode& op, const std::vector<bool>& active, const ResidualPolicy& policy) {
  enclosing.push_back(&policy);
  struct Leave {
    ~Leave() { enclosing.pop_back(); }
  } leave;
  return make_joint(op.region(), active, std::vector<bool>(op.outputs.size(), true));
}

// Inlines the forward half, so that the policy of an enclosing remat sees the names inside it. What
// that policy keeps is not recomputed here either: the enclosing remat decides where it is kept.
Linearized linearize_remat(const OpNode& op, const Values& inputs,
                           const std::vector<bool>& active) {
  const auto& a = op.attrs<RematAttributes>();
  const ResidualPolicy& own = a.policy.decide;
  const Halves halves = split(joint_of(op, active, own), [&](const OpNode& inner) {
    return outer_decision(inner) == Residual::kRecompute ? own(inner) : Residual::kSave;
  });
  Values forward = inline_region(*halves.forward, inputs);
  const size_t num_results = halves.joint.num_results;
  std::vector<size_t> offloaded;  // indices of the offloaded values in `forward`
  for (size_t i = 0; i < halves.saved.size(); ++i) {
    if (halves.saved_as[i] != Residual::kOffload) continue;
    offloaded.push_back(num_results + i);
    forward[offloaded.back()] = place(forward[offloaded.back()], Memory::kHost);
  }
  auto pullback = [=, prevent_cse = a.prevent_cse](const Values& cotangents) {
    Values in;
    for (const size_t i : halves.needed) in.push_back(inputs[i]);
    Values kept = forward;
    for (const size_t i : offloaded) kept[i] = place(kept[i], Memory::kDevice);
    in = concatenate<Tensor>(
        {in, std::span(kept).subspan(num_results), gather_cotangents(halves.joint, cotangents)});
    // The cotangents pass through the barrier too, so that the recomputation does not start before
    // they are available.
    if (prevent_cse) in = optimization_barrier(in);
    return spread_input_cotangents(halves.joint, inline_region(*halves.backward, in));
  };
  return {concatenate<Tensor>({std::span(forward).first(num_results)}), std::move(pullback)};
}

const OpRules remat_rules({.name = "remat",
                           .infer = infer_body,
                           .batch = batch_body,
                           .linearize = linearize_remat,
                           .prune = prune_body,
                           .divide = divide_body,
                           .regions = one_run,
                           .source = operand_of_parameter,
                           .widen = widen_body,
                           .eval = eval_body,
                           .hlo = inline_body,
                           .cost = {body_flops, body_bytes}});

}  // namespace

Values remat(const TensorFunction& fn, const Values& arguments, const RematPolicy& policy,
             bool prevent_cse) {
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  check_tags(policy, *closed.region);
  return emit_all(remat_rules, closed.operands(arguments),
                  std::make_shared<const RematAttributes>(policy, prevent_cse), {closed.region});
}

}  // namespace axle
