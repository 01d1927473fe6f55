#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "ir/call_site.h"
#include "ir/devices/sharding.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/bodies.h"
#include "transform/grad.h"
#include "transform/linearize.h"
#include "transform/partition.h"

namespace axle {
namespace {

// The op's first region computes the outputs. Its second region computes the outputs, then the
// residuals. Both take the captured outer tensors, then the arguments.
struct CustomVjpAttributes : Attributes {
  CustomVjpAttributes(const CustomVjp& rule, size_t captures)
      : name(rule.name),
        file(rule.file),
        line(rule.line),
        backward(rule.backward),
        num_captures(captures) {}
  std::string name;
  const char* file;
  int line;
  decltype(CustomVjp::backward) backward;
  size_t num_captures;
  std::string text() const override { return name; }
};

// "tanh_of_result (src/x.cpp:31)"
std::string rule_text(const CustomVjpAttributes& a) {
  if (*a.file == '\0') return a.name;
  return fmt::format("{} ({}:{})", a.name, shown_path(a.file), a.line);
}

std::vector<Type> infer_custom_vjp(const OpNode& op) {
  check_num_regions(op, 2);
  const std::vector<Type> arguments = types_of(op.inputs);
  for (const size_t region : {0, 1}) check_parameters(op, region, arguments);
  std::vector<Type> outputs = types_of(op.region(0).results());
  std::vector<Type> forward = types_of(op.region(1).results());
  forward.resize(std::min(forward.size(), outputs.size()));
  if (forward != outputs) {
    shape_error(op, fmt::format("expected a forward function of {} that returns its outputs first",
                                rule_text(op.attrs<CustomVjpAttributes>())));
  }
  return outputs;
}

void check_rule_cotangents(const OpNode& op, size_t num_captures, const Values& cotangents) {
  const size_t expected = op.inputs.size() - num_captures;
  const std::string name = rule_text(op.attrs<CustomVjpAttributes>());
  if (cotangents.size() != expected) {
    shape_error(op, fmt::format("expected a cotangent for each of the {} arguments of {}, got {}",
                                expected, name, cotangents.size()));
  }
  for (size_t i = 0; i < expected; ++i) {
    const Type& type = op.inputs[num_captures + i].type();
    if (!static_cast<bool>(cotangents[i]) || cotangents[i].type() == type) continue;
    shape_error(op, fmt::format("expected a cotangent of {} for argument {} of {}, got {}",
                                to_text(type), i, name, describe(cotangents[i])));
  }
}

Linearized linearize_custom_vjp(const OpNode& op, const Values& inputs,
                                const std::vector<bool>& active) {
  const auto& a = op.attrs<CustomVjpAttributes>();
  for (size_t i = 0; i < a.num_captures; ++i) {
    if (!active[i]) continue;
    shape_error(op, fmt::format("expected differentiated tensors among the arguments of {}, got "
                                "one that its forward function captures; pass it as an argument",
                                rule_text(a)));
  }
  const Values computed = inline_region(*op.regions[1], inputs);
  const size_t num_outputs = op.region().results().size();
  auto pullback = [&op, backward = a.backward, num_captures = a.num_captures,
                   residuals = concatenate<Tensor>({std::span(computed).subspan(num_outputs)})](
                      Values cotangents) {
    for (size_t i = 0; i < cotangents.size(); ++i) {
      if (is_differentiable(op.outputs[i].dtype))
        cotangents[i] = instantiate(cotangents[i], op.outputs[i]);
    }
    const auto run = [&] {
      const CallSiteScope own_lines(nullptr);  // the rule's ops come from its own lines
      return backward(residuals, cotangents);
    };
    const Values of_arguments = run();
    check_rule_cotangents(op, num_captures, of_arguments);
    Values out(num_captures);
    out.insert(out.end(), of_arguments.begin(), of_arguments.end());
    return out;
  };
  return {concatenate<Tensor>({std::span(computed).first(num_outputs)}), std::move(pullback)};
}

using Backward = decltype(CustomVjp::backward);

// Returns a backward function of whole batches. `arguments` and `residuals` mark those that have a
// batch dim; all outputs have one. The cotangent of an argument without it is the sum over the
// batch.
Backward batched_backward(Backward backward, std::vector<bool> arguments,
                          const std::vector<bool>& residuals, const BatchAxis& axis) {
  return [=](const Values& saved, const Values& cotangents) {
    std::vector<Batched> inputs = with_marks(saved, residuals);
    for (const Tensor& ct : cotangents) {
      if (ct) inputs.push_back({ct, true});
    }
    std::vector<Type> types;
    for (const Batched& v : inputs) {
      types.push_back(v.value.type());
      if (v.is_batched) types.back().dims.erase(types.back().dims.begin());
    }
    std::vector<bool> exists;
    const ClosedRegion closed = trace_closed(
        [&](const Values& parameters) {
          Values of_outputs = cotangents;
          size_t next = saved.size();
          for (Tensor& ct : of_outputs) {
            if (ct) ct = parameters[next++];
          }
          Values computed = backward(
              concatenate<Tensor>({std::span(parameters).first(saved.size())}), of_outputs);
          for (const Tensor& t : computed) exists.push_back(static_cast<bool>(t));
          std::erase_if(computed, [](const Tensor& t) { return !static_cast<bool>(t); });
          return computed;
        },
        types);
    // check_cotangents reports the wrong number of them.
    if (exists.size() != arguments.size()) return Values(exists.size());
    const auto captured =
        with_marks(closed.captures, std::vector<bool>(closed.captures.size(), false));
    const Values results = with_batch_dims(
        batch_region(*closed.region, concatenate<Batched>({captured, inputs}), axis), axis);
    Values out;
    size_t next = 0;
    for (size_t i = 0; i < exists.size(); ++i) {
      if (!exists[i]) {
        out.emplace_back();
        continue;
      }
      const Tensor& ct = results[next++];
      out.push_back(arguments[i] ? ct : reduce_sum(ct, {0}));
    }
    return out;
  };
}

std::vector<Batched> batch_custom_vjp(BatchX x) {
  const OpNode& op = x.op();
  const auto& a = op.attrs<CustomVjpAttributes>();
  const std::vector<bool> operands = batched_marks(x.values());
  const size_t num_outputs = op.region().results().size();
  std::vector<bool> force(op.regions[1]->results().size(), false);
  std::fill_n(force.begin(), num_outputs, true);
  const BatchedRegion forward = batched_region(*op.regions[1], operands, x.axis(), force);
  const BatchedRegion primal =
      batched_region(op.region(), operands, x.axis(), std::vector<bool>(num_outputs, true));
  const auto from = [](const std::vector<bool>& marks, size_t first) {
    return std::vector<bool>(marks.begin() + first, marks.end());
  };
  const CustomVjp rule{.name = a.name,
                       .backward = batched_backward(a.backward, from(operands, a.num_captures),
                                                    from(forward.results, num_outputs), x.axis()),
                       .file = a.file,
                       .line = a.line};
  return all_batched(emit_all(*op.rules, operands_of(x),
                              std::make_shared<const CustomVjpAttributes>(rule, a.num_captures),
                              {primal.region, forward.region}));
}

// The backward function of an op without some of the outputs: their cotangents are zeros.
Backward backward_of_used(Backward backward, const std::vector<Type>& outputs,
                          const std::vector<bool>& used) {
  return [=](const Values& residuals, const Values& cotangents) {
    Values all = spread_results(cotangents, used);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!used[i] && is_differentiable(outputs[i].dtype)) all[i] = instantiate({}, outputs[i]);
    }
    return backward(residuals, all);
  };
}

// All arguments stay, also those that nothing reads: the rule may give any of them a cotangent. All
// residuals stay, since the rule is a function that reads them by number. The forward rule runs
// only where it is differentiated.
BodyFlow flow_of_custom_vjp(const OpNode& op) {
  RegionFlow primal{.parameters = ports(op.inputs.size()), .results = ports(op.outputs.size())};
  for (size_t i = op.attrs<CustomVjpAttributes>().num_captures; i < op.inputs.size(); ++i)
    primal.parameters[i].is_needed = true;
  RegionFlow forward = primal;
  forward.trips = {.count = 0, .is_open = false};
  return {{std::move(primal), std::move(forward)}};
}

Values emit_custom_vjp(const OpNode& op, const BodyFlow& flow, Regions regions,
                       const Values& operands) {
  const auto& a = op.attrs<CustomVjpAttributes>();
  std::vector<bool> used = returned_results(flow);
  used.resize(op.outputs.size());
  const bool all_used = std::ranges::count(used, false) == 0;
  const std::vector<Port>& parameters = flow.regions[0].parameters;
  const auto num_captures = std::ranges::count(parameters, false, &Port::is_needed);
  const CustomVjp rule{
      .name = a.name,
      .backward = all_used ? a.backward : backward_of_used(a.backward, op.outputs, used),
      .file = a.file,
      .line = a.line};
  return emit_all(*op.rules, at_ports(operands, parameters),
                  std::make_shared<const CustomVjpAttributes>(rule, num_captures),
                  std::move(regions));
}

const OpRules custom_vjp_rules({.name = "custom_vjp",
                                .infer = infer_custom_vjp,
                                .batch = batch_custom_vjp,
                                .linearize = linearize_custom_vjp,
                                .body = {flow_of_custom_vjp, emit_custom_vjp, widen_body},
                                .eval = eval_body,
                                .hlo = inline_body,
                                .cost = {body_flops, body_bytes}});

// A device finds its position along an axis in its part of the sum of 0, 1, 2, ... over all.
Tensor index_of_device(const MeshAxis& axis) {
  const Tensor sum = reduce_scatter(iota({axis.size}, 0), {axis.name.c_str()}, 0);
  return sum / full_like(sum, static_cast<double>(axis.size));
}

// Returns the backward function with the axes that are manual now: it may call collectives, and a
// shard_map is differentiated after its body was traced.
Backward with_manual_axes(const Backward& backward) {
  const std::vector<MeshAxis> axes = ManualAxes::all();
  if (axes.empty()) return backward;
  return [=](const Values& saved, const Values& cotangents) {
    std::vector<MeshAxis> missing;
    for (const MeshAxis& axis : axes) {
      if (!ManualAxes::contains(axis.name)) missing.push_back(axis);
    }
    const ManualAxes scope(missing, index_of_device);
    return backward(saved, cotangents);
  };
}

}  // namespace

Values custom_vjp(const CustomVjp& rule, const Values& arguments) {
  size_t num_outputs = 0;
  const ClosedRegion closed = trace_closed(
      [&](const Values& x) {
        WithResiduals computed = rule.forward(x);
        num_outputs = computed.outputs.size();
        return concatenate<Tensor>({computed.outputs, computed.residuals});
      },
      types_of(arguments));
  const Values& results = closed.region->results();
  auto primal = slice_region(*closed.region, closed.region->parameters(),
                             concatenate<Tensor>({std::span(results).first(num_outputs)}));
  CustomVjp kept = rule;
  kept.backward = with_manual_axes(rule.backward);
  return emit_all(custom_vjp_rules, closed.operands(arguments),
                  std::make_shared<const CustomVjpAttributes>(kept, closed.captures.size()),
                  {std::move(primal), closed.region});
}

}  // namespace axle
