#include "ir/eval.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/host_memory_check.h"

namespace axle {
namespace {

using Uses = std::unordered_map<const OpNode*, int>;

Uses count_uses(const Region& region) {
  Uses uses;
  for (const OpNode* op : region.ops()) {
    for (const Tensor& t : op->inputs) ++uses[t.node()];
  }
  for (const Tensor& t : region.results()) ++uses[t.node()];
  return uses;
}

}  // namespace

std::vector<HostTensor> evaluate(const Region& region, std::vector<HostTensor> arguments,
                                 const EvalOptions& options) {
  AXLE_CHECK(
      arguments.size() == region.parameters().size(),
      fmt::format("{} arguments for {} parameters", arguments.size(), region.parameters().size()));
  std::unordered_map<const OpNode*, std::vector<HostTensor>> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& p = region.parameters()[i];
    const Type stored = options.stored(p.type());
    HostTensor value = arguments[i].dtype() == stored.dtype ? std::move(arguments[i])
                                                            : arguments[i].astype(stored.dtype);
    AXLE_CHECK(value.type() == stored, fmt::format("argument {} is {}, its parameter {}", i,
                                                   to_text(value.type()), describe(p)));
    values[p.node()].push_back(std::move(value));
  }
  Uses uses = count_uses(region);
  for (const OpNode* op : region.ops()) {
    std::vector<const HostTensor*> x;
    for (const Tensor& t : op->inputs) x.push_back(&values.at(t.node())[t.index()]);
    std::vector<HostTensor> y;
    for (const Type& type : op->outputs) y.emplace_back(options.stored(type));
    op->rules->row().eval(options, *op, x, y);
    for (size_t i = 0; i < y.size(); ++i) {
      AXLE_CHECK(y[i].type() == options.stored(op->outputs[i]),
                 fmt::format("{} gave {}", op->rules->name(), to_text(y[i].type())));
    }
    values[op] = std::move(y);
    for (const Tensor& t : op->inputs) {
      if (--uses[t.node()] == 0) values.erase(t.node());
    }
  }
  std::vector<HostTensor> results;
  for (const Tensor& t : region.results()) results.push_back(values.at(t.node())[t.index()]);
  return results;
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
      if (--uses[t.node()] == 0) held -= bytes_of(t.node()->outputs);
    }
  }
  std::vector<Type> results;
  for (const Tensor& t : region.results()) results.push_back(t.type());
  return std::max(most, saturating_sum(held, bytes_of(results)));
}

}  // namespace axle
