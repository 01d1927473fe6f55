#include "modifiers/set_partition.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "modifiers/slot_option.h"

namespace axle {

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

}  // namespace axle
