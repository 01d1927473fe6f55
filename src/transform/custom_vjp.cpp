#include "transform/custom_vjp.h"

#include <fmt/format.h>

#include "base/concatenate.h"
#include "transform/body.h"
#include "transform/linearize.h"
#include "transform/partition.h"

namespace axle {
namespace {

// The op's first region computes the outputs. Its second region computes the outputs, then the
// residuals. Both take the captured outer tensors, then the arguments.
struct CustomVjpAttributes : Attributes {
  CustomVjpAttributes(const CustomVjp& rule, size_t captures)
      : name(rule.name), backward(rule.backward), num_captures(captures) {}
  std::string name;
  decltype(CustomVjp::backward) backward;
  size_t num_captures;
  std::string text() const override { return name; }
};

void check_cotangents(const OpNode& op, size_t num_captures, const Values& cotangents) {
  const size_t expected = op.inputs.size() - num_captures;
  const std::string name = op.attrs<CustomVjpAttributes>().name;
  if (cotangents.size() != expected) {
    shape_error(op, fmt::format("expected a cotangent for each of the {} arguments of {}, got {}",
                                expected, name, cotangents.size()));
  }
  for (size_t i = 0; i < expected; ++i) {
    const Type& type = op.inputs[num_captures + i].type();
    if (!cotangents[i] || cotangents[i].type() == type) continue;
    shape_error(op, fmt::format("expected a cotangent of {} for argument {} of {}, got {}",
                                to_text(type), i, name, to_text(cotangents[i].type())));
  }
}

Linearized linearize_custom_vjp(const OpNode& op, const Values& inputs,
                                const std::vector<bool>& active) {
  const auto& a = op.attrs<CustomVjpAttributes>();
  for (size_t i = 0; i < a.num_captures; ++i) {
    if (!active[i]) continue;
    shape_error(op, fmt::format("expected differentiated tensors among the arguments of {}, got "
                                "one that its forward function captures; pass it as an argument",
                                a.name));
  }
  const Values computed = inline_region(*op.regions[1], inputs);
  const size_t num_outputs = op.region().results().size();
  auto pullback = [&op, backward = a.backward, num_captures = a.num_captures,
                   residuals = concatenate<Tensor>({std::span(computed).subspan(num_outputs)})](
                      Values cotangents) {
    for (size_t i = 0; i < cotangents.size(); ++i) {
      if (is_float(op.outputs[i].dtype)) cotangents[i] = instantiate(cotangents[i], op.outputs[i]);
    }
    const Values of_arguments = backward(residuals, cotangents);
    check_cotangents(op, num_captures, of_arguments);
    Values out(num_captures);
    out.insert(out.end(), of_arguments.begin(), of_arguments.end());
    return out;
  };
  return {concatenate<Tensor>({std::span(computed).first(num_outputs)}), std::move(pullback)};
}

const OpRules custom_vjp_rules({.name = "custom_vjp",
                                .infer = infer_body,
                                .linearize = linearize_custom_vjp,
                                .eval = eval_body,
                                .hlo = inline_body,
                                .cost = {body_flops, body_bytes}});

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
  auto primal = slice(*closed.region, closed.region->parameters(),
                      concatenate<Tensor>({std::span(results).first(num_outputs)}));
  return emit_all(custom_vjp_rules, closed.operands(arguments),
                  std::make_shared<const CustomVjpAttributes>(rule, closed.captures.size()),
                  {std::move(primal), closed.region});
}

}  // namespace axle
