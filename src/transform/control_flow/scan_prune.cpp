#include "transform/control_flow/scan_prune.h"

#include "ir/tensor.h"
#include "transform/control_flow/scan_op.h"
#include "transform/marks.h"
#include "transform/remat/partition.h"
#include "transform/simplify.h"

namespace axle {
namespace {

// True if every iteration passes carry i on.
bool is_passed_on(const OpNode& op, size_t i) {
  const Region& body = op.region();
  return same(body.results()[i], body.parameters()[op.attrs<ScanAttributes>().num_consts + i]);
}

// Marks the results of the body that used results need, over all iterations: a fixpoint.
std::vector<bool> needed_results(const OpNode& op, std::vector<bool> needed) {
  const auto& a = op.attrs<ScanAttributes>();
  const Region& body = op.region();
  for (bool changed = true; changed;) {
    changed = false;
    const auto part = slice_region(body, body.parameters(), selected(body.results(), needed));
    const std::vector<bool> parameters = needed_parameters(*part);
    for (size_t i = 0; i < a.num_carries; ++i) {
      if (parameters[a.num_consts + i] && !needed[i]) needed[i] = changed = true;
    }
  }
  return needed;
}

}  // namespace

Pruned prune_scan(const OpNode& op, const std::vector<bool>& used) {
  const auto a = op.attrs<ScanAttributes>();
  const Region& body = op.region();
  const size_t num_fixed = a.num_consts + a.num_carries;
  std::vector<bool> results = needed_results(op, used);
  // A carry that is passed on is read like a const, and its result is the operand itself.
  std::vector<bool> passed_on(results.size(), false);
  for (size_t i = 0; i < a.num_carries; ++i) {
    passed_on[i] = results[i] && is_passed_on(op, i);
    if (passed_on[i]) results[i] = false;
  }
  const auto part =
      simplify(*slice_region(body, body.parameters(), selected(body.results(), results)));
  const std::vector<bool> read = needed_parameters(*part);

  Pruned out{.inputs = read};
  Values consts, carries, xs;  // parameters of `part`
  for (size_t i = 0; i < read.size(); ++i) {
    const Tensor& parameter = part->parameters()[i];
    if (i >= num_fixed) {
      if (read[i]) xs.push_back(parameter);
    } else if (i < a.num_consts) {
      if (read[i]) consts.push_back(parameter);
    } else if (results[i - a.num_consts]) {
      carries.push_back(parameter);
      out.inputs[i] = true;
    } else if (passed_on[i - a.num_consts]) {
      consts.push_back(parameter);
      out.inputs[i] = true;
    }
  }
  Values parameters = consts;
  parameters.insert(parameters.end(), carries.begin(), carries.end());
  parameters.insert(parameters.end(), xs.begin(), xs.end());
  auto smaller = slice_region(*part, parameters, part->results());
  out.emit = [a, num_fixed, used, passed_on, results, kept = out.inputs, smaller,
              num_consts = consts.size(), num_carries = carries.size()](const Values& inputs) {
    Values own_consts, own_carries, own_xs, of_operand(kept.size());
    size_t next = 0;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i]) continue;
      const Tensor& input = of_operand[i] = inputs[next++];
      const bool is_carry = i >= a.num_consts && i < num_fixed && results[i - a.num_consts];
      (i >= num_fixed ? own_xs : is_carry ? own_carries : own_consts).push_back(input);
    }
    Values operands = own_consts;
    operands.insert(operands.end(), own_carries.begin(), own_carries.end());
    operands.insert(operands.end(), own_xs.begin(), own_xs.end());
    Values computed;  // nothing, if all that is used is passed on
    if (!smaller->results().empty() || has_effect(*smaller)) {
      ScanAttributes rest = a;
      rest.num_consts = num_consts;
      rest.num_carries = num_carries;
      computed = emit_scan(smaller, std::move(operands), rest);
    }
    Values all = spread_results(computed, results);
    for (size_t i = 0; i < all.size(); ++i) {
      if (passed_on[i]) all[i] = of_operand[a.num_consts + i];
      if (!used[i]) all[i] = {};
    }
    return all;
  };
  return out;
}

}  // namespace axle
