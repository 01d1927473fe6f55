#include "modifiers/sequence_parallel.h"

#include "base/error.h"
#include "config/register.h"
#include "layers/blocks/mixer.h"
#include "layers/models/embedding.h"
#include "modifiers/slot_option.h"

namespace axle {
namespace {

bool holds_tokens(const Slot& slot) {
  if (slot.ops->kind != FieldKind::kChild) return false;
  const RoleInfo* role = &slot.ops->role();
  return role == &role_info<Block>() || role == &role_info<TokenEmbedding>();
}

}  // namespace

std::vector<Replaced> SequenceParallel::apply(ConfigRef root) const {
  DimAxes sequence = kSequenceAxes;
  sequence.insert(sequence.end(), cfg_.axes.begin(), cfg_.axes.end());
  const std::optional<PartitionSpec> tokens = PartitionSpec{{kBatchAxes, sequence}};
  const auto wanted = [](const std::string&, const Slot& slot) { return holds_tokens(slot); };
  if (set_option(root, "@activation", &tokens, wanted) == 0)
    throw ConfigError("SequenceParallel: expected a tree with blocks, got none");
  return {};
}

AXLE_REGISTER(SequenceParallel)

}  // namespace axle
