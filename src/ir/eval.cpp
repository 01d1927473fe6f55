#include "ir/eval.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/lists.h"

namespace axle {
namespace {

using Uses = std::vector<int>;  // by id of the op
using TakeResult = std::function<void(size_t, HostTensor)>;

Uses count_uses(const Region& region) {
  Uses uses(region.num_nodes() + 1, 0);
  for (const OpNode* op : region.ops()) {
    for (const Tensor& t : op->inputs) ++uses[t.node()->id];
  }
  return uses;
}

// The numbers of the region's results that each op has, by its id.
std::vector<std::vector<size_t>> results_by_op(const Region& region) {
  std::vector<std::vector<size_t>> out(region.num_nodes() + 1);
  for (size_t i = 0; i < region.results().size(); ++i)
    out[region.results()[i].node()->id].push_back(i);
  return out;
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
void run(const Region& region, std::vector<Results> values, const TakeResult& take,
         const EvalOptions& options) {
  Uses uses = count_uses(region);
  const std::vector<std::vector<size_t>> results = results_by_op(region);
  // Passes on the results of an op that no other op reads any more, and frees it.
  const auto finish = [&](const OpNode* op) {
    const std::vector<size_t>& numbers = results[op->id];
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint32_t index = region.results()[numbers[i]].index();
      const auto is_same = [&](size_t other) { return region.results()[other].index() == index; };
      const bool again =
          std::any_of(numbers.begin() + static_cast<std::ptrdiff_t>(i) + 1, numbers.end(), is_same);
      Results& of_op = values[op->id];
      if (of_op.borrowed || again)
        take(numbers[i], of_op.at(index));
      else
        take(numbers[i], std::move(of_op.own.at(index)));
    }
    values[op->id] = {};
  };
  for (const Tensor& p : region.parameters()) {
    if (uses[p.node()->id] == 0) finish(p.node());
  }
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
      if (--uses[t.node()->id] == 0) finish(t.node());
    }
    if (uses[op->id] == 0) finish(op);
  }
}

// Runs the region on one value for each of its parameters, in their order.
void run_on(const Region& region, std::vector<Results> arguments, const TakeResult& take,
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
  run(region, std::move(values), take, options);
}

// Returns the results in their order.
std::vector<HostTensor> all_results(const Region& region, std::vector<Results> arguments,
                                    const EvalOptions& options) {
  std::vector<HostTensor> out(region.results().size());
  const auto put = [&](size_t i, HostTensor value) { out[i] = std::move(value); };
  run_on(region, std::move(arguments), put, options);
  return out;
}

std::vector<Results> all_owned(std::vector<HostTensor> arguments) {
  std::vector<Results> out;
  for (HostTensor& argument : arguments) out.push_back(owned(std::move(argument)));
  return out;
}

}  // namespace

std::vector<HostTensor> evaluate(const Region& region, std::vector<HostTensor> arguments,
                                 const EvalOptions& options) {
  return all_results(region, all_owned(std::move(arguments)), options);
}

std::vector<HostTensor> evaluate_borrowing(const Region& region,
                                           std::span<const HostTensor* const> arguments,
                                           const EvalOptions& options) {
  std::vector<Results> values;
  for (const HostTensor* argument : arguments) values.push_back({.own = {}, .borrowed = argument});
  return all_results(region, std::move(values), options);
}

void evaluate_each(const Region& region, std::vector<HostTensor> arguments, const TakeResult& take,
                   const EvalOptions& options) {
  run_on(region, all_owned(std::move(arguments)), take, options);
}

int64_t eval_peak_bytes(const Region& region) {
  const auto bytes_of = [](const std::vector<Type>& types) {
    int64_t bytes = 0;
    for (const Type& type : types)
      bytes = saturating_sum(bytes, static_cast<int64_t>(type.num_bytes()));
    return bytes;
  };
  Uses uses = count_uses(region);
  for (const Tensor& t : region.results()) ++uses[t.node()->id];
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
