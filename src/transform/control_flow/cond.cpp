#include "transform/control_flow/cond.h"

#include <algorithm>

#include "base/lists.h"
#include "ops/elementwise/convert.h"
#include "transform/clone.h"
#include "transform/control_flow/cond_op.h"
#include "transform/control_flow/type_checks.h"

namespace axle {

Values switch_case(const Tensor& index, const std::vector<TensorFunction>& branches,
                   const Values& arguments) {
  if (branches.empty()) shape_error("cond", "expected at least one branch, got none", {index});
  std::vector<ClosedRegion> traced;
  Values captures;
  for (const TensorFunction& branch : branches) {
    traced.push_back(trace_closed(branch, types_of(arguments)));
    const Values& results = traced.back().region->results();
    const Values& first = traced.front().region->results();
    check_branch("cond", traced.size() - 1, first, results);
    for (const Tensor& t : traced.back().captures) {
      const auto is_same = [&](const Tensor& other) { return same(t, other); };
      if (std::ranges::none_of(captures, is_same)) captures.push_back(t);
    }
  }
  // Every branch gets the tensors that any of them captures.
  const Values operands = concatenate<Tensor>({captures, arguments});
  std::vector<std::shared_ptr<const Region>> regions;
  for (const ClosedRegion& branch : traced) {
    regions.push_back(trace(
        [&](const Values& parameters) {
          const Copies copies(captures,
                              concatenate<Tensor>({std::span(parameters).first(captures.size())}));
          return inline_region(
              *branch.region,
              concatenate<Tensor>(
                  {copies.all(branch.captures), std::span(parameters).subspan(captures.size())}));
        },
        types_of(operands)));
  }
  return emit_cond(std::move(regions), concatenate<Tensor>({Values{index}, operands}));
}

Values cond(const Tensor& predicate, const TensorFunction& if_true, const TensorFunction& if_false,
            const Values& arguments) {
  if (predicate.type() != Type{DType::kPred, {}})
    shape_error("cond", "expected a pred scalar as condition", {predicate});
  return switch_case(astype(predicate, DType::kI32), {if_false, if_true}, arguments);
}

}  // namespace axle
