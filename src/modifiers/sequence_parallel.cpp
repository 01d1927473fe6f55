#include "modifiers/sequence_parallel.h"

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/blocks/mixer.h"
#include "layers/models/embedding.h"
#include "modifiers/slot_option.h"

namespace axle {
namespace {

bool holds_tokens(const Slot& outer) {
  const Slot slot = unwrap(outer);
  if (slot.ops->kind != FieldKind::kChild) return false;
  const RoleInfo* role = &slot.ops->role();
  return role == &role_info<Block>() || role == &role_info<TokenEmbedding>();
}

}  // namespace

std::vector<Rewrite> SequenceParallel::apply(ConfigRef root) const {
  DimAxes sequence = kSequenceAxes;
  sequence.insert(sequence.end(), cfg_.axes.begin(), cfg_.axes.end());
  const std::optional<PartitionSpec> tokens = PartitionSpec{{kBatchAxes, sequence}};
  const auto wanted = [](const std::string&, const Slot& slot) { return holds_tokens(slot); };
  RewriteReport report = set_option(root, "@activation", &tokens, wanted);
  if (report.matched.empty() && report.unchanged.empty())
    throw NoMatch("SequenceParallel: expected a tree with blocks, got none");
  return {{"SequenceParallel", std::move(report)}};
}

AXLE_REGISTER(SequenceParallel)

}  // namespace axle
