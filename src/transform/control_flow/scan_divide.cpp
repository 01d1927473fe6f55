#include "transform/control_flow/scan_divide.h"

#include <algorithm>

#include "base/lists.h"
#include "ops/annotate.h"
#include "transform/control_flow/scan_op.h"
#include "transform/marks.h"
#include "transform/remat/divide.h"
#include "transform/trace.h"

namespace axle {
namespace {

// The halves of the body, and the results that the backward half computes: those that are used, and
// the carries that they need in later iterations.
struct DividedBody {
  Halves halves;
  std::vector<bool> results;
};

DividedBody divide_scan_body(const OpNode& op, const std::vector<bool>& used,
                             const ResidualPolicy& policy) {
  const auto& a = op.attrs<ScanAttributes>();
  DividedBody out{.results = used};
  for (bool changed = true; changed;) {
    changed = false;
    out.halves = divide_region(op.region(), out.results, policy);
    for (const size_t i : out.halves.needed) {
      if (i < a.num_consts || i >= a.num_consts + a.num_carries) continue;
      if (!out.results[i - a.num_consts]) out.results[i - a.num_consts] = changed = true;
    }
  }
  return out;
}

// Where each saved value is among the results of the forward loop, and the results of its body.
struct Forward {
  std::vector<size_t> at;
  std::shared_ptr<const Region> body;
};

// A value that the loop stacks anyway is not stacked twice. Offloaded values go to the host in each
// iteration.
Forward forward_body(const Halves& halves, size_t num_carries) {
  Forward out;
  const Region& region = *halves.forward;
  const size_t num_results = halves.joint.num_results;
  out.body = trace(
      [&](const Values& parameters) {
        const Values all = inline_region(region, parameters);
        Values results = concatenate<Tensor>({std::span(all).first(num_results)});
        for (size_t i = 0; i < halves.saved.size(); ++i) {
          Tensor saved = all[num_results + i];
          if (halves.saved_as[i] == Residual::kOffload) saved = place(saved, Memory::kHost);
          size_t at = num_carries;
          while (at < results.size() && !same(results[at], saved)) ++at;
          if (at == results.size()) results.push_back(saved);
          out.at.push_back(at);
        }
        return results;
      },
      types_of(region.parameters()));
  return out;
}

}  // namespace

std::optional<Divided> divide_scan(const OpNode& op, const std::vector<bool>& used,
                                   const ResidualPolicy& policy) {
  const auto a = op.attrs<ScanAttributes>();
  if (!a.may_keep_values) return std::nullopt;
  const auto [halves, results] = divide_scan_body(op, used, policy);
  if (halves.saved.empty()) return std::nullopt;
  const size_t num_results = op.outputs.size(), num_fixed = a.num_consts + a.num_carries;
  const Forward forward = forward_body(halves, a.num_carries);

  Divided out{.kept = std::vector<Residual>(halves.saved.size(), Residual::kSave),
              .inputs = std::vector<bool>(op.inputs.size(), false)};
  for (const size_t i : halves.needed) out.inputs[i] = true;
  for (size_t i = 0; i < a.num_carries; ++i) {
    if (results[i]) out.inputs[a.num_consts + i] = true;
  }
  out.forward = [=](const Values& inputs) {
    const Values all = emit_scan(forward.body, inputs, a);
    Values computed = concatenate<Tensor>({std::span(all).first(num_results)});
    for (const size_t at : forward.at) computed.push_back(all[at]);
    return computed;
  };

  // A used result that is stacked as a kept value is that value. The loop computes the others.
  std::vector<int> kept_as(num_results, -1);
  std::vector<bool> computed = results;
  for (size_t i = 0; i < forward.at.size(); ++i) {
    if (forward.at[i] >= num_results || !results[forward.at[i]]) continue;
    kept_as[forward.at[i]] = static_cast<int>(i);
    computed[forward.at[i]] = false;
  }
  std::vector<Type> types;
  ScanAttributes again = a;
  again.num_consts = again.num_carries = 0;
  for (size_t i = 0; i < out.inputs.size(); ++i) {
    if (!out.inputs[i]) continue;
    types.push_back(op.region().parameters()[i].type());
    if (i < a.num_consts)
      ++again.num_consts;
    else if (i < num_fixed)
      ++again.num_carries;
  }
  for (const Tensor& t : halves.saved) types.push_back(t.type());
  const auto body = trace(
      [&, &halves = halves, &results = results](const Values& parameters) {
        Values in;
        std::vector<size_t> position(out.inputs.size(), 0);
        size_t next = 0;
        for (size_t i = 0; i < out.inputs.size(); ++i) {
          if (out.inputs[i]) position[i] = next++;
        }
        for (const size_t i : halves.needed) in.push_back(parameters[position[i]]);
        in = concatenate<Tensor>({in, std::span(parameters).subspan(next)});
        const Values all = spread_results(inline_region(*halves.backward, in), results);
        Values chosen;
        for (size_t i = 0; i < all.size(); ++i) {
          if (computed[i]) chosen.push_back(all[i]);
        }
        return chosen;
      },
      types);
  out.again = [=, saved_as = halves.saved_as](const Values& inputs, const Values& kept) {
    Values stacked = kept;
    for (size_t i = 0; i < stacked.size(); ++i) {
      if (saved_as[i] == Residual::kOffload) stacked[i] = place(stacked[i], Memory::kDevice);
    }
    Values found;
    if (std::ranges::count(computed, true) > 0)
      found = emit_scan(body, concatenate<Tensor>({inputs, stacked}), again);
    Values all = spread_results(found, computed);
    for (size_t i = 0; i < all.size(); ++i) {
      if (kept_as[i] >= 0) all[i] = stacked[static_cast<size_t>(kept_as[i])];
      if (!used[i]) all[i] = {};
    }
    return all;
  };
  return out;
}

}  // namespace axle
