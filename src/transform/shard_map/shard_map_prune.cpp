#include "transform/shard_map/shard_map_prune.h"

#include <algorithm>

#include "ir/tensor.h"
#include "transform/marks.h"
#include "transform/remat/partition.h"
#include "transform/shard_map/shard_map_op.h"
#include "transform/simplify.h"

namespace axle {

// All devices run the same body, so that they all drop the same collectives.
Pruned prune_shard_map(const OpNode& op, const std::vector<bool>& used) {
  const auto a = op.attrs<ShardMapAttributes>();
  const Region& body = op.region();
  const auto part =
      simplify(*slice_region(body, body.parameters(), selected(body.results(), used)));
  const std::vector<PartitionSpec> part_specs = selected(a.out_specs, used);

  std::vector<std::optional<size_t>> operand_of(part->results().size());
  std::vector<bool> is_computed;
  for (size_t i = 0; i < part->results().size(); ++i) {
    for (size_t p = 0; p < a.in_specs.size(); ++p) {
      if (same(part->results()[i], part->parameters()[p]) && part_specs[i] == a.in_specs[p])
        operand_of[i] = p;
    }
    is_computed.push_back(!operand_of[i]);
  }
  const auto computing =
      slice_region(*part, part->parameters(), selected(part->results(), is_computed));
  const std::vector<bool> read = needed_parameters(*computing);
  const auto smaller =
      slice_region(*computing, selected(computing->parameters(), read), computing->results());
  ShardMapAttributes smaller_a = a;
  smaller_a.in_specs = selected(a.in_specs, read);
  smaller_a.out_specs = selected(part_specs, is_computed);

  Pruned out{.inputs = read};
  for (const auto& operand : operand_of) {
    if (operand) out.inputs[*operand] = true;
  }
  out.emit = [=, kept = out.inputs](const Values& inputs) {
    const Values all = spread_results(inputs, kept);
    Values computed;  // nothing, if all that is used are operands
    if (!smaller->results().empty() || has_effect(*smaller))
      computed = emit_shard_map(smaller, selected(all, read), smaller_a);
    Values results = spread_results(computed, is_computed);
    for (size_t i = 0; i < results.size(); ++i) {
      if (operand_of[i]) results[i] = all[*operand_of[i]];
    }
    return spread_results(results, used);
  };
  return out;
}

}  // namespace axle
