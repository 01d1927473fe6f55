#include "transform/control_flow/while_prune.h"

#include <algorithm>

#include "base/lists.h"
#include "ir/tensor.h"
#include "transform/control_flow/while_op.h"
#include "transform/marks.h"
#include "transform/remat/partition.h"
#include "transform/simplify.h"

namespace axle {
namespace {

using Marks = std::vector<bool>;

Marks first(const Marks& marks, size_t count) { return {marks.begin(), marks.begin() + count}; }
Marks from(const Marks& marks, size_t begin) { return {marks.begin() + begin, marks.end()}; }
Marks both(const Marks& a, const Marks& b) {
  Marks out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(a[i] && b[i]);
  return out;
}
size_t count(const Marks& marks) { return static_cast<size_t>(std::ranges::count(marks, true)); }

// The part of the body that the marked carries and those that they need read: a fixpoint. It has
// all parameters, and the results that `carries` marks.
struct NeededBody {
  std::shared_ptr<const Region> region;
  Marks carries;
};

NeededBody needed_body(const OpNode& op, Marks carries) {
  const Region& body = op.region(1);
  const size_t num_consts = op.attrs<WhileAttributes>().num_body_consts;
  while (true) {
    const auto part =
        simplify(*slice_region(body, body.parameters(), selected(body.results(), carries)));
    const Marks read = from(needed_parameters(*part), num_consts);
    bool changed = false;
    for (size_t i = 0; i < carries.size(); ++i) {
      if (read[i] && !carries[i]) carries[i] = changed = true;
    }
    if (!changed) return {part, carries};
  }
}

// What is left of the parameters of a region, or of the operands for them: the consts that it
// reads, the carries that it reads as consts, the carries.
struct Parameters {
  Marks consts, constant_carries, carries;
  size_t num_consts() const { return count(consts) + count(constant_carries); }
  Values consts_of(const Values& own, const Values& carried) const {
    return concatenate<Tensor>({selected(own, consts), selected(carried, constant_carries)});
  }
  std::shared_ptr<const Region> left_of(const Region& region) const {
    const std::span all(region.parameters());
    const Values carried = concatenate<Tensor>({all.subspan(consts.size())});
    const Values own = concatenate<Tensor>({all.first(consts.size())});
    return slice_region(region,
                        concatenate<Tensor>({consts_of(own, carried), selected(carried, carries)}),
                        region.results());
  }
};

}  // namespace

Pruned prune_while(const OpNode& op, const std::vector<bool>& used) {
  const auto a = op.attrs<WhileAttributes>();
  const auto condition = simplify(op.region(0));
  const Marks asked = needed_parameters(*condition);
  const Marks asked_carries = from(asked, a.num_condition_consts);
  Marks wanted = used;
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] || asked_carries[i];
  const NeededBody needed = needed_body(op, wanted);

  // A carry that every iteration passes on is read like a const, and its result is the operand.
  Marks passed_on(used.size(), false), changed(used.size(), false);
  Values results;
  size_t next = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!needed.carries[i]) continue;
    const Tensor& result = needed.region->results()[next++];
    passed_on[i] = same(result, needed.region->parameters()[a.num_body_consts + i]);
    changed[i] = !passed_on[i];
    if (changed[i]) results.push_back(result);
  }
  const auto body = slice_region(*needed.region, needed.region->parameters(), results);
  const Marks read = needed_parameters(*body);
  const Parameters of_condition{first(asked, a.num_condition_consts),
                                both(passed_on, asked_carries), changed};
  const Parameters of_body{first(read, a.num_body_consts),
                           both(passed_on, from(read, a.num_body_consts)), changed};
  const bool runs = count(both(used, changed)) > 0 || has_effect(*condition) || has_effect(*body);

  Pruned out{.inputs = Marks(op.inputs.size(), false)};
  const auto keep = [&](size_t begin, const Marks& marks) {
    for (size_t i = 0; i < marks.size(); ++i) {
      if (marks[i]) out.inputs[begin + i] = true;
    }
  };
  keep(a.num_consts(), both(used, passed_on));
  if (runs) {
    keep(0, of_condition.consts);
    keep(a.num_condition_consts, of_body.consts);
    for (const Marks& marks : {of_condition.constant_carries, of_body.constant_carries, changed})
      keep(a.num_consts(), marks);
  }
  out.emit = [=, kept = out.inputs, smaller_condition = of_condition.left_of(*condition),
              smaller_body = of_body.left_of(*body)](const Values& inputs) {
    const Values all = spread_results(inputs, kept);
    const auto operands = [&](size_t begin, size_t size) {
      return concatenate<Tensor>({std::span(all).subspan(begin, size)});
    };
    const Values carried = operands(a.num_consts(), used.size());
    Values values(used.size());
    if (runs) {
      const Values of_both = concatenate<Tensor>(
          {of_condition.consts_of(operands(0, a.num_condition_consts), carried),
           of_body.consts_of(operands(a.num_condition_consts, a.num_body_consts), carried)});
      values = spread_results(
          emit_while(smaller_condition, smaller_body,
                     concatenate<Tensor>({of_both, selected(carried, changed)}),
                     WhileAttributes(of_condition.num_consts(), of_body.num_consts())),
          changed);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (passed_on[i]) values[i] = carried[i];
      if (!used[i]) values[i] = {};
    }
    return values;
  };
  return out;
}

}  // namespace axle
