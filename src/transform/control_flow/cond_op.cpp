#include "transform/control_flow/cond_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "ir/eval.h"
#include "ir/hlo_builder.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"
#include "ops/rules.h"
#include "transform/batch_region.h"
#include "transform/body.h"
#include "transform/control_flow/cond_divide.h"
#include "transform/control_flow/cond_vjp.h"
#include "transform/control_flow/type_checks.h"
#include "transform/marks.h"
#include "transform/remat/partition.h"
#include "transform/simplify.h"
#include "transform/trace.h"

namespace axle {
namespace {

// The op's first operand is the index. Its regions are the branches, which take the other operands.
std::vector<Type> infer_cond(const OpNode& op) {
  if (op.inputs.empty() || op.regions.empty())
    shape_error(op, "expected an index and at least one branch");
  std::vector<Type> arguments = types_of(op.inputs);
  if (arguments[0] != Type{DType::kI32, {}})
    shape_error(op, fmt::format("expected an i32 scalar as index, got {}", to_text(arguments[0])));
  arguments.erase(arguments.begin());
  for (size_t i = 0; i < op.regions.size(); ++i) {
    check_parameters(op, i, arguments);
    check_branch("cond", i, op.region().results(), op.region(i).results());
  }
  return types_of(op.region().results());
}

void eval_cond(const EvalOptions& options, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  const auto last = static_cast<int32_t>(op.regions.size()) - 1;
  const int32_t index = std::clamp(x[0]->values<int32_t>()[0], 0, last);
  const Region& branch = op.region(static_cast<size_t>(index));
  std::ranges::move(evaluate_borrowing(branch, x.subspan(1), options), y.begin());
}

HloValues lower_cond(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const HloValues operands(x.begin() + 1, x.end());
  std::vector<HloRegion> branches;
  for (const auto& region : op.regions) {
    branches.push_back({{}, [&b, &operands, region = region.get()](const HloValues&) {
                          return b.inline_region(*region, operands);
                        }});
  }
  return b.op("stablehlo.case", {x[0]}, op.outputs, {}, branches);
}

// Returns true for the examples that take the branch. An index beyond the branches takes the
// nearest.
Tensor takes_branch(const Tensor& index, size_t branch, size_t num_branches) {
  const auto i = static_cast<int64_t>(branch);
  if (num_branches == 1) return full(index.shape(), 1, DType::kPred);
  if (branch == 0) return index <= i;
  return branch + 1 == num_branches ? index >= i : equal(index, i);
}

// Returns the operands of a branch that all examples run. The examples that take another branch get
// the same numbers, but no gradient: that of a branch they do not take may be infinite, and the
// zeros that it is multiplied by would make it NaN.
std::vector<Batched> operands_of_takers(std::vector<Batched> operands, const Tensor& takes,
                                        const BatchAxis& axis) {
  for (Batched& x : operands) {
    if (!is_differentiable(x.value.dtype())) continue;
    const Tensor whole = with_batch_dims({&x, 1}, axis)[0];
    x = {select_examples(takes, whole, stop_gradient(whole)), true};
  }
  return operands;
}

// With one index for all examples, the branches are batched. Otherwise all branches run, and each
// example selects its results.
std::vector<Batched> batch_cond(BatchX x) {
  const OpNode& op = x.op();
  const std::vector<Batched> operands(x.values().begin() + 1, x.values().end());
  if (!x.is_batched(0)) {
    const std::vector<bool> marks = batched_marks(operands);
    std::vector<bool> force(op.outputs.size(), false);
    for (const auto& region : op.regions) {
      const std::vector<bool> own = batched_results(*region, marks);
      for (size_t i = 0; i < own.size(); ++i) force[i] = force[i] || own[i];
    }
    std::vector<std::shared_ptr<const Region>> branches;
    for (const auto& region : op.regions)
      branches.push_back(batched_region(*region, marks, x.axis(), force).region);
    return with_marks(emit_cond(std::move(branches), operands_of(x)), force);
  }
  if (op.regions.size() == 1) return batch_region(op.region(), operands, x.axis());
  Values out;
  for (size_t i = op.regions.size(); i-- > 0;) {
    const Tensor takes = takes_branch(x[0], i, op.regions.size());
    const Values own = with_batch_dims(
        batch_region(*op.regions[i], operands_of_takers(operands, takes, x.axis()), x.axis()),
        x.axis());
    if (out.empty()) {
      out = own;
      continue;
    }
    const Tensor is_chosen = x[0] <= static_cast<int64_t>(i);
    for (size_t r = 0; r < out.size(); ++r) out[r] = select_examples(is_chosen, own[r], out[r]);
  }
  return all_batched(out);
}

Pruned prune_cond(const OpNode& op, const std::vector<bool>& used) {
  std::vector<std::shared_ptr<const Region>> parts;
  std::vector<bool> needed(op.inputs.size() - 1, false);
  for (const auto& branch : op.regions) {
    parts.push_back(
        simplify(*slice_region(*branch, branch->parameters(), selected(branch->results(), used))));
    const std::vector<bool> own = needed_parameters(*parts.back());
    for (size_t i = 0; i < own.size(); ++i) needed[i] = needed[i] || own[i];
  }
  std::vector<std::shared_ptr<const Region>> smaller;
  for (const auto& part : parts)
    smaller.push_back(slice_region(*part, selected(part->parameters(), needed), part->results()));
  Pruned out{.inputs = needed};
  out.inputs.insert(out.inputs.begin(), true);  // the index
  out.emit = [smaller, used](const Values& inputs) {
    return spread_results(emit_cond(smaller, inputs), used);
  };
  return out;
}

// The branch that costs most.
template <double (*kCost)(const Region&)>
double largest_cost(const OpNode& op) {
  double most = 0;
  for (const auto& region : op.regions) most = std::max(most, kCost(*region));
  return most;
}

// The branch with the most operations, the first of them if several have as many.
std::vector<double> cond_runs(const OpNode& op) {
  std::vector<double> flops, out(op.regions.size(), 0.0);
  for (const auto& region : op.regions) flops.push_back(region_flops(*region));
  out[static_cast<size_t>(std::ranges::max_element(flops) - flops.begin())] = 1;
  return out;
}

std::vector<RegionRuns> cond_regions(const OpNode& op) {
  return std::vector<RegionRuns>(op.regions.size());
}

ParameterSource cond_source(const OpNode& op, ParameterSource::Run, size_t parameter) {
  return {op.inputs[parameter + 1]};
}

// Each branch also returns its own extra values, and zeros for those of the others.
Widened widen_cond(const OpNode& op, const Values& inputs,
                   std::span<const std::shared_ptr<const Region>> regions, int64_t) {
  const size_t num_results = op.outputs.size();
  const auto extra_of = [&](const Values& results) {
    return std::span(results).subspan(num_results);
  };
  std::vector<std::shared_ptr<const Region>> branches;
  for (size_t own = 0; own < regions.size(); ++own) {
    branches.push_back(trace(
        [&](const Values& parameters) {
          const Values computed = inline_region(*regions[own], parameters);
          Values out = concatenate<Tensor>({std::span(computed).first(num_results)});
          for (size_t i = 0; i < regions.size(); ++i) {
            for (const Tensor& t : extra_of(i == own ? computed : regions[i]->results()))
              out.push_back(i == own ? t : zeros(t.shape(), t.dtype()));
          }
          return out;
        },
        types_of(op.region(own).parameters())));
  }
  const Values all = emit_cond(std::move(branches), inputs);
  auto rest = std::span(all);
  const auto take = [&](size_t n) {
    const Values taken = concatenate<Tensor>({rest.first(n)});
    rest = rest.subspan(n);
    return taken;
  };
  Widened out{.results = take(num_results)};
  for (size_t i = 0; i < regions.size(); ++i) {
    out.extra.push_back(take(extra_of(regions[i]->results()).size()));
    out.ran.push_back(takes_branch(inputs[0], i, regions.size()));
  }
  return out;
}

const OpRules cond_rules({.name = "cond",
                          .infer = infer_cond,
                          .batch = batch_cond,
                          .linearize = linearize_cond,
                          .prune = prune_cond,
                          .divide = divide_cond,
                          .runs = cond_runs,
                          .regions = cond_regions,
                          .source = cond_source,
                          .widen = widen_cond,
                          .eval = eval_cond,
                          .hlo = lower_cond,
                          .cost = {largest_cost<region_flops>, largest_cost<region_bytes>}});

}  // namespace

Values emit_cond(std::vector<std::shared_ptr<const Region>> branches, Values inputs) {
  return emit_all(cond_rules, std::move(inputs), {}, std::move(branches));
}

}  // namespace axle
