#include "ir/eval.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/host_memory_check.h"

namespace axle {
namespace {

using Uses = std::vector<int>;  // by id of the op

Uses count_uses(const Region& region) {
  Uses uses(region.num_nodes() + 1, 0);
  for (const OpNode* op : region.ops()) {
    for (const Tensor& t : op->inputs) ++uses[t.node()->id];
  }
  for (const Tensor& t : region.results()) ++uses[t.node()->id];
  return uses;
}

// The results of an op, or the argument for a parameter.
struct Results {
  std::vector<HostTensor> own;
  const HostTensor* borrowed = nullptr;  // an argument that the caller keeps
  const HostTensor& at(uint32_t i) const { return borrowed ? *borrowed : own.at(i); }
};

Results owned(HostTensor value) {
  Results out;
  out.own.push_back(std::move(value));
  return out;
}

// `values` has the arguments, by id of their parameters.
std::vector<HostTensor> run(const Region& region, std::vector<Results> values,
                            const EvalOptions& options) {
  Uses uses = count_uses(region);
  std::vector<const HostTensor*> x;
  for (const OpNode* op : region.ops()) {
    x.clear();
    for (const Tensor& t : op->inputs) x.push_back(&values[t.node()->id].at(t.index()));
    std::vector<HostTensor>& y = values[op->id].own;
    y.reserve(op->outputs.size());
    for (const Type& type : op->outputs) y.emplace_back(options.stored(type));
    op->rules->row().eval(options, *op, x, y);
    for (size_t i = 0; i < y.size(); ++i) {
      AXLE_CHECK(y[i].type() == options.stored(op->outputs[i]),
                 fmt::format("{} gave {}", op->rules->name(), to_text(y[i].type())));
    }
    for (const Tensor& t : op->inputs) {
      if (--uses[t.node()->id] == 0) values[t.node()->id] = {};
    }
  }
  std::vector<HostTensor> results;
  for (const Tensor& t : region.results()) {
    Results& of_op = values[t.node()->id];
    // One use is left: nobody reads this value, or another one of its op, afterwards.
    if (--uses[t.node()->id] == 0 && !of_op.borrowed)
      results.push_back(std::move(of_op.own.at(t.index())));
    else
      results.push_back(of_op.at(t.index()));
  }
  return results;
}

// Runs the region on one value for each of its parameters, in their order.
std::vector<HostTensor> run_on(const Region& region, std::vector<Results> arguments,
                               const EvalOptions& options) {
  AXLE_CHECK(
      arguments.size() == region.parameters().size(),
      fmt::format("{} arguments for {} parameters", arguments.size(), region.parameters().size()));
  std::vector<Results> values(region.num_nodes() + 1);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& p = region.parameters()[i];
    const Type stored = options.stored(p.type());
    Results& value = values[p.node()->id];
    value = std::move(arguments[i]);
    if (value.at(0).dtype() != stored.dtype) value = owned(value.at(0).astype(stored.dtype));
    AXLE_CHECK(value.at(0).type() == stored, fmt::format("argument {} is {}, its parameter {}", i,
                                                         to_text(value.at(0).type()), describe(p)));
  }
  return run(region, std::move(values), options);
}

}  // namespace

std::vector<HostTensor> evaluate(const Region& region, std::vector<HostTensor> arguments,
                                 const EvalOptions& options) {
  std::vector<Results> values;
  for (HostTensor& argument : arguments) values.push_back(owned(std::move(argument)));
  return run_on(region, std::move(values), options);
}

std::vector<HostTensor> evaluate_borrowing(const Region& region,
                                           std::span<const HostTensor* const> arguments,
                                           const EvalOptions& options) {
  std::vector<Results> values;
  for (const HostTensor* argument : arguments) values.push_back({.own = {}, .borrowed = argument});
  return run_on(region, std::move(values), options);
}

int64_t eval_peak_bytes(const Region& region) {
  const auto bytes_of = [](const std::vector<Type>& types) {
    int64_t bytes = 0;
    for (const Type& type : types)
      bytes = saturating_sum(bytes, static_cast<int64_t>(type.num_bytes()));
    return bytes;
  };
  Uses uses = count_uses(region);
  int64_t held = 0;
  for (const Tensor& p : region.parameters()) held = saturating_sum(held, bytes_of({p.type()}));
  int64_t most = held;
  for (const OpNode* op : region.ops()) {
    held = saturating_sum(held, bytes_of(op->outputs));
    int64_t within = 0;  // regions of an op run one after the other
    for (const auto& inner : op->regions) within = std::max(within, eval_peak_bytes(*inner));
    most = std::max(most, saturating_sum(held, within));
    for (const Tensor& t : op->inputs) {
      if (--uses[t.node()->id] == 0) held -= bytes_of(t.node()->outputs);
    }
  }
  std::vector<Type> results;
  for (const Tensor& t : region.results()) results.push_back(t.type());
  return std::max(most, saturating_sum(held, bytes_of(results)));
}

}  // namespace axle
