// Rows of the functions that take functions. These are data themselves (formula.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "functions/function.h"
#include "transform/control_flow/maps.h"
#include "transform/transform.h"

namespace axle {
namespace {

// The body of a loop returns the next carry, then the other results.
ScanResult scan_by_formula(const Values& init, const Values& xs, const TensorFunction& body,
                           int64_t length, const ScanOptions& options) {
  const ScanBody step = [&](const Values& carry, const Values& slices) {
    Values arguments = carry;
    arguments.insert(arguments.end(), slices.begin(), slices.end());
    const Values results = body(arguments);
    if (results.size() < init.size())
      throw ConfigError("body: expected the next carry among its results, got fewer tensors");
    const auto carry_out = std::span(results).first(init.size());
    const auto ys = std::span(results).subspan(init.size());
    return ScanResult{{carry_out.begin(), carry_out.end()}, {ys.begin(), ys.end()}};
  };
  return scan(step, init, xs, length, options);
}

WhileCondition as_condition(const TensorFunction& fn) {
  return [fn](const Values& carry) {
    const Values results = fn(carry);
    if (results.size() != 1) throw ConfigError("condition: expected one result");
    return results[0];
  };
}
Values while_by_formula(const Values& init, const TensorFunction& condition,
                        const TensorFunction& body) {
  return while_loop(as_condition(condition), body, init);
}
Values bounded_while_by_formula(const Values& init, const TensorFunction& condition,
                                const TensorFunction& body, int64_t max_steps) {
  return bounded_while(as_condition(condition), body, init, max_steps);
}

std::function<Values(const Tensor&, const Values&)> with_counter(const TensorFunction& body) {
  return [body](const Tensor& i, const Values& carry) {
    Values arguments = {i};
    arguments.insert(arguments.end(), carry.begin(), carry.end());
    return body(arguments);
  };
}
Values fori_by_formula(const Values& init, const TensorFunction& body, int64_t begin, int64_t end) {
  return fori_loop(begin, end, with_counter(body), init);
}
Values dynamic_fori_by_formula(const Tensor& begin, const Tensor& end, const Values& init,
                               const TensorFunction& body) {
  return fori_loop(begin, end, with_counter(body), init);
}

// The function that combines takes the earlier tensors, then the later ones.
Values associative_scan_by_formula(const Values& x, const TensorFunction& combine, int64_t axis) {
  const AssociativeCombine of_pairs = [&](const Values& earlier, const Values& later) {
    Values arguments = earlier;
    arguments.insert(arguments.end(), later.begin(), later.end());
    return combine(arguments);
  };
  return associative_scan(of_pairs, x, axis);
}

Values cond_by_formula(const Tensor& predicate, const Values& arguments,
                       const TensorFunction& if_true, const TensorFunction& if_false) {
  return cond(predicate, if_true, if_false, arguments);
}
Values switch_by_formula(const Tensor& index, const Values& arguments,
                         const std::vector<TensorFunction>& branches) {
  return switch_case(index, branches, arguments);
}

Values sequential_map_by_formula(const Values& xs, const TensorFunction& fn,
                                 const SequentialMapOptions& options) {
  return sequential_map(fn, xs, options);
}
Values call_by_formula(const Values& arguments, const TensorFunction& fn, const std::string& name) {
  return call(name, fn, arguments);
}
Values remat_by_formula(const Values& arguments, const TensorFunction& fn,
                        const RematPolicy& policy, bool prevent_cse) {
  return remat(fn, arguments, policy, prevent_cse);
}
// `forward` returns the outputs, then the residuals. `backward` takes the residuals, then the
// cotangents of the outputs that have one. It returns the cotangents of the other arguments than
// `without_gradient`.
Values custom_vjp_by_formula(const Values& arguments, const TensorFunction& forward,
                             const TensorFunction& backward, int64_t num_outputs,
                             const std::vector<int64_t>& without_gradient,
                             const std::string& name) {
  CustomVjp rule{.name = name, .file = "", .line = 0};  // the rule is not written in this file
  rule.forward = [forward, num_outputs](const Values& v) {
    const Values all = forward(v);
    if (num_outputs < 1 || num_outputs > std::ssize(all)) {
      throw ConfigError(
          fmt::format("num_outputs: expected 1 to {}, the number of results of the forward "
                      "function, got {}",
                      all.size(), num_outputs));
    }
    const auto end_of_outputs = all.begin() + num_outputs;
    return WithResiduals{{all.begin(), end_of_outputs}, {end_of_outputs, all.end()}};
  };
  const auto num_gradients = std::ssize(arguments) - std::ssize(without_gradient);
  rule.backward = [backward, without_gradient, name, num_gradients](const Values& residuals,
                                                                    const Values& cotangents) {
    Values inputs = residuals;
    std::ranges::copy_if(cotangents, std::back_inserter(inputs),
                         [](const Tensor& g) { return static_cast<bool>(g); });
    Values out;
    try {
      out = backward(inputs);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("custom_vjp {}: {}", name, error.what()));
    }
    if (std::ssize(out) != num_gradients) {
      throw ConfigError(fmt::format(
          "custom_vjp {}: expected a backward function with a result for each of the {} arguments "
          "that have a gradient, got {}",
          name, num_gradients, out.size()));
    }
    // In ascending order, so that each position is that among all arguments.
    for (const int64_t i : without_gradient)
      out.insert(out.begin() + std::min<int64_t>(i, std::ssize(out)), Tensor());
    return out;
  };
  std::vector<int64_t> sorted = without_gradient;
  std::ranges::sort(sorted);
  if (sorted != without_gradient || std::ranges::adjacent_find(sorted) != sorted.end() ||
      (!sorted.empty() && (sorted[0] < 0 || sorted.back() >= std::ssize(arguments)))) {
    throw ConfigError(
        fmt::format("without_gradient: expected ascending numbers of the {} arguments, got [{}]",
                    arguments.size(), fmt::join(without_gradient, ", ")));
  }
  return custom_vjp(rule, arguments);
}
// Appends the tensors that are there: integers have no derivative.
Values with_derivatives(Values outputs, const Values& derivatives) {
  std::ranges::copy_if(derivatives, std::back_inserter(outputs),
                       [](const Tensor& d) { return static_cast<bool>(d); });
  return outputs;
}
// The tangents are for the arguments that are floating-point or complex. Returns the outputs,
// then the derivatives of those that have one.
Values jvp_by_formula(const Values& arguments, const Values& tangents, const TensorFunction& fn) {
  const auto has_tangent = [](const Tensor& x) { return is_differentiable(x.dtype()); };
  if (const auto n = std::ranges::count_if(arguments, has_tangent); n != std::ssize(tangents)) {
    throw ConfigError(fmt::format(
        "tangents: expected one for each of the {} floating-point or complex arguments, got {}", n,
        tangents.size()));
  }
  Values all;
  auto next = tangents.begin();
  for (const Tensor& x : arguments) all.push_back(has_tangent(x) ? *next++ : Tensor());
  auto [outputs, derivatives] = jvp(fn, arguments, all);
  return with_derivatives(std::move(outputs), derivatives);
}
// Returns the outputs, then the gradients of the arguments that have one.
Values gradient_by_formula(const Values& arguments, const TensorFunction& fn) {
  auto [outputs, gradients] = value_and_grad(fn, arguments);
  return with_derivatives(std::move(outputs), gradients);
}
Values vmap_by_formula(const Values& arguments, const TensorFunction& fn,
                       const VmapOptions& options) {
  return vmap(fn, arguments, options);
}
Values ragged_map_by_formula(const Values& control_flow_rows, const Values& groups,
                             const Tensor& group_sizes, const TensorFunction& fn) {
  return ragged_map(fn, control_flow_rows, groups, group_sizes);
}

std::vector<Function> control_flow_rows() {
  return {function("scan(init, xs, body, length, options)", scan_by_formula),
          function("associative_scan(x, combine, axis)", associative_scan_by_formula),
          function("while_loop(init, condition, body)", while_by_formula),
          function("bounded_while(init, condition, body, max_steps)", bounded_while_by_formula),
          function("fori_loop(init, body, begin, end)", fori_by_formula),
          function("fori_loop(begin, end, init, body)", dynamic_fori_by_formula),
          function("cond(predicate, arguments, if_true, if_false)", cond_by_formula),
          function("switch_case(index, arguments, branches)", switch_by_formula),
          function("sequential_map(xs, fn, options)", sequential_map_by_formula),
          function("call(arguments, fn, name=fn)", call_by_formula),
          function("remat(arguments, fn, policy=save_nothing, prevent_cse=true)", remat_by_formula),
          function("custom_vjp(arguments, forward, backward, num_outputs=1, without_gradient=[], "
                   "name=rule)",
                   custom_vjp_by_formula),
          function("jvp(arguments, tangents, fn)", jvp_by_formula),
          function("value_and_grad(arguments, fn)", gradient_by_formula),
          function("vmap(arguments, fn, options)", vmap_by_formula),
          function("ragged_map(rows, groups, group_sizes, fn)", ragged_map_by_formula)};
}

const FunctionFamily kControlFlow(control_flow_rows);

}  // namespace
}  // namespace axle
