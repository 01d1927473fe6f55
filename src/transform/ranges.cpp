#include "transform/ranges.h"

#include <algorithm>

#include "ir/value_map.h"

namespace axle {
namespace {

// Constants with more elements are not looked at.
constexpr int64_t kMaxElements = int64_t{1} << 20;

// What a value of this dtype can be.
ValueRange all_of(DType dtype) {
  if (dtype == DType::kPred) return {0, 1};
  if (dtype == DType::kI32) return {-0x1p31, 0x1p31 - 1};
  return {};
}

ValueRange range_of_elements(const OpNode& op) {
  HostTensor values(op.outputs[0]);
  if (values.size() == 0 || values.size() > kMaxElements) return {};
  op.rules->row().eval({}, op, {}, std::span(&values, 1));
  ValueRange out{values.at(0), values.at(0)};
  for (int64_t i = 1; i < values.size(); ++i) {
    out.low = std::min(out.low, values.at(i));
    out.high = std::max(out.high, values.at(i));
  }
  return out;
}

ValueRange range_of(const OpNode& op, std::span<const ValueRange> x) {
  const OpRow& row = op.rules->row();
  if (op.outputs.size() != 1 || is_complex(op.outputs[0].dtype)) return {};
  if (row.range) return row.range(op, x);
  if (row.traits.moves_elements && is_integer(op.inputs[0].dtype())) return x[0];
  return op.inputs.empty() && op.regions.empty() ? range_of_elements(op) : ValueRange{};
}

}  // namespace

std::vector<ValueRange> ranges_of_results(const Region& region,
                                          std::span<const ValueRange> parameters) {
  ValueMap<ValueRange> known;
  for (size_t i = 0; i < parameters.size(); ++i) known[region.parameters()[i]] = parameters[i];
  for (const OpNode* op : region.ops()) {
    std::vector<ValueRange> of_inputs;
    for (const Tensor& x : op->inputs) of_inputs.push_back(known.at(x));
    const ValueRange found = range_of(*op, of_inputs);
    for (uint32_t i = 0; i < op->outputs.size(); ++i) {
      const ValueRange all = all_of(op->outputs[i].dtype);
      // A result that might not fit its dtype may be anything.
      known[Tensor(op, i)] = found.low >= all.low && found.high <= all.high ? found : all;
    }
  }
  std::vector<ValueRange> out;
  for (const Tensor& y : region.results()) out.push_back(known.at(y));
  return out;
}

}  // namespace axle
