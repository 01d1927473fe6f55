#include "inspect/eval_layer/eval_function.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/tree.h"
#include "inspect/eval_layer/cotangents.h"
#include "inspect/eval_layer/given_tensors.h"
#include "inspect/eval_layer/run_named.h"
#include "ops/create.h"
#include "ops/movement/shape.h"
#include "transform/control_flow/scan.h"
#include "transform/grad.h"

namespace axle {
namespace {

constexpr const char* kStep = "in/step";
constexpr const char* kX = "in/x";

HostTensor counted_steps(int64_t num_steps) {
  constexpr int64_t kMax = 1 << 24;
  if (num_steps < 1 || num_steps > kMax) {
    throw ConfigError(fmt::format("--steps: expected 1 to {} steps, got {}", kMax, num_steps));
  }
  HostTensor out({DType::kI32, {num_steps}});
  for (int64_t i = 0; i < num_steps; ++i)
    out.values<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  return out;
}

// Returns the steps as i32 or f32, the types in which learners count steps.
HostTensor as_steps(const HostTensor& given) {
  if (given.dtype() == DType::kI32 || given.dtype() == DType::kF32) return given;
  HostTensor steps = given.astype(DType::kI32);
  for (int64_t i = 0; i < given.size(); ++i) {
    if (steps.at(i) != given.at(i)) {
      throw ConfigError(fmt::format("{}: expected steps that are i32 or f32, got {} in {}", kStep,
                                    given.at(i), to_text(given.type())));
    }
  }
  return steps;
}

// Evaluates the schedule at each step in a scan, since a schedule takes one step at a time.
Tensor at_each(const Schedule& schedule, const Tensor& steps) {
  const int64_t n = steps.type().num_elements();
  const ScanResult values =
      scan([&](const Values&,
               const Values& step) { return ScanResult{.carry = {}, .ys = {schedule(step[0])}}; },
           {}, {reshape(steps, {n})}, n);
  return reshape(values.ys[0], steps.shape());
}

// Throws unless `name` is the only input besides cotangents, and is not empty.
void check_input(const Tree<HostTensor>& inputs, const char* name, const char* how) {
  std::vector<std::string> extra;
  for (const auto& [other, value] : inputs) {
    if (other != name && !other.starts_with("cotangent/")) extra.push_back(other);
  }
  fail_unread(extra, {name});
  const auto it = inputs.find(name);
  if (it == inputs.end()) throw DataError(fmt::format("{}: expected {}, got none", name, how));
  if (it->second.size() == 0) {
    throw ConfigError(
        fmt::format("{}: expected at least one value, got {}", name, to_text(it->second.type())));
  }
}

}  // namespace

Tree<HostTensor> eval_schedule(const Schedule& schedule, const Tree<HostTensor>& inputs,
                               const EvalFunctionOptions& options, Runtime& runtime) {
  Tree<HostTensor> arguments = inputs;
  if (options.num_steps && !arguments.emplace(kStep, counted_steps(*options.num_steps)).second)
    throw ConfigError("--steps: expected either --steps or in/step, got both");
  check_input(arguments, kStep, "the steps, or --steps N");
  const HostTensor steps = as_steps(arguments.at(kStep));
  return run_named(
      "eval_schedule",
      [&](const Tree<Tensor>& at) -> Tree<Tensor> {
        return {{"out", at_each(schedule, at.at(kStep))}};
      },
      {{kStep, steps}}, runtime);
}

Tree<HostTensor> eval_activation(const Activation& fn, const Tree<HostTensor>& inputs,
                                 const EvalFunctionOptions& options, Runtime& runtime) {
  Tree<HostTensor> arguments = inputs;
  if (!options.grad)
    std::erase_if(arguments, [](const auto& i) { return i.first.starts_with("cotangent/"); });
  check_input(arguments, kX, "a tensor");
  if (options.dtype) cast_floats(arguments, *options.dtype);
  const Type type = arguments.at(kX).type();
  if (!is_float(type.dtype))
    throw ConfigError(fmt::format("{}: expected floats, got {}", kX, to_text(type)));
  return run_named(
      "eval_activation",
      [&](const Tree<Tensor>& at) -> Tree<Tensor> {
        if (!options.grad) return {{"out", fn(at.at(kX))}};
        const Linearized linear =
            vjp([&](const Values& x) { return Values{fn(x[0])}; }, {at.at(kX)});
        const Values gradients =
            linear.pullback(cotangents_for({{"", linear.outputs[0]}}, subtree(at, "cotangent")));
        return {{"out", linear.outputs[0]},
                {"grad/in/x", gradients[0] ? gradients[0] : zeros_like(at.at(kX))}};
      },
      arguments, runtime);
}

}  // namespace axle
