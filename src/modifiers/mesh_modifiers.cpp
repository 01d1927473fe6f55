#include "modifiers/mesh_modifiers.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/mesh_axes.h"
#include "layers/mixer.h"
#include "layers/models/embedding.h"
#include "modifiers/attention/set_attention.h"
#include "modifiers/field_modifiers.h"

namespace axle {

std::vector<Rewrite> SetMesh::apply(ConfigRef root) const {
  const std::string mesh = to_text(cfg_.mesh.get());
  return {{"SetMesh " + mesh, set_texts(root, {{"mesh", mesh}}).fields}};
}

SetMesh::Config mesh(std::vector<MeshAxis> axes) { return {.mesh = Mesh{.axes = std::move(axes)}}; }

AXLE_REGISTER(SetMesh)

std::vector<Rewrite> SetPartition::apply(ConfigRef root) const {
  return {{fmt::format("SetPartition at {}", cfg_.at),
           set_option(root, "@partition", &cfg_.partition, cfg_.at, "SetPartition")}};
}

SetPartition::Config parallel_vocabulary(std::string at) {
  return {.at = std::move(at), .partition = PartitionSpec{{kShardAxes, kModelDimAxes}}};
}

SetPartition::Config whole_rows(std::string at) {
  DimAxes axes = kShardAxes;
  std::ranges::copy(kModelDimAxes, std::back_inserter(axes));
  return {.at = std::move(at), .partition = PartitionSpec{{std::move(axes), kReplicated}}};
}

AXLE_REGISTER(SetPartition)

std::vector<Rewrite> SetRemat::apply(ConfigRef root) const {
  return {{fmt::format("SetRemat at {}", cfg_.at),
           set_option(root, "@remat", &cfg_.policy, cfg_.at, "SetRemat")}};
}

SetRemat::Config remat(std::string at, Fn<RematPolicy()> policy) {
  return {.at = std::move(at), .policy = std::move(policy)};
}

AXLE_REGISTER(SetRemat)

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
