#include "transform/call.h"

#include <fmt/format.h>

#include "base/concatenate.h"
#include "base/hash.h"
#include "ir/hlo_builder.h"
#include "ir/print.h"
#include "transform/batch_region.h"
#include "transform/body.h"
#include "transform/remat/partition.h"
#include "transform/simplify.h"

namespace axle {
namespace {

struct CallAttributes : Attributes {
  explicit CallAttributes(std::string n) : name(std::move(n)) {}
  std::string name;
  std::string text() const override { return name; }
};

Values emit_call(const std::string& name, std::shared_ptr<const Region> body, Values inputs);

Linearized linearize_call(const OpNode& op, const Values& inputs, const std::vector<bool>& active) {
  const std::string name = op.attrs<CallAttributes>().name;
  const Halves halves =
      split(make_joint(op.region(), active, std::vector<bool>(op.outputs.size(), true)), nullptr);
  const Values forward = emit_call(name, halves.forward, inputs);
  const size_t num_results = halves.joint.num_results;
  auto pullback = [=](const Values& cotangents) {
    Values in;
    for (const size_t i : halves.needed) in.push_back(inputs[i]);
    in = concatenate<Tensor>(
        {in, std::span(forward).subspan(num_results), gather_cotangents(halves.joint, cotangents)});
    return spread_input_cotangents(halves.joint, emit_call(name + "_vjp", halves.backward, in));
  };
  return {concatenate<Tensor>({std::span(forward).first(num_results)}), std::move(pullback)};
}

const OpRules call_rules({.name = "call",
                          .infer = infer_body,
                          .batch = batch_body,
                          .linearize = linearize_call,
                          .prune = prune_body,
                          .eval = eval_body,
                          .hlo =
                              [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                // Equal bodies have equal texts, since op ids count from the start
                                // of each region.
                                const std::string name =
                                    fmt::format("{}_{:016x}", op.attrs<CallAttributes>().name,
                                                xxh3_64(print(op.region())));
                                return b.call(name, x, op.outputs, [&](const HloValues& p) {
                                  return b.inline_region(op.region(), p);
                                });
                              },
                          .cost = {body_flops, body_bytes}});

Values emit_call(const std::string& name, std::shared_ptr<const Region> body, Values inputs) {
  return emit_all(call_rules, std::move(inputs), std::make_shared<const CallAttributes>(name),
                  {std::move(body)});
}

}  // namespace

Values call(const std::string& name, const TensorFunction& fn, const Values& arguments) {
  const ClosedRegion closed = trace_closed(fn, types_of(arguments));
  return emit_call(name, closed.region, closed.operands(arguments));
}

}  // namespace axle
