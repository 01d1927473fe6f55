// How the rows of a run's batches are divided: among devices, and into parts that are computed one
// after another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/devices/mesh.h"
#include "train/config/trainer_config.h"

namespace axle {

/// Returns how many devices share the rows of batches that are sharded like this.
int64_t num_row_shares(const PartitionSpec& batch_partition, const Mesh& mesh);

struct BatchParts {
  int64_t rows = 0;    // of a batch; 0: the input does not say
  int64_t shares = 1;  // devices that share the rows
  int64_t parts = 1;   // of the batch of a step
};
/// Those of the training batches on a mesh whose sizes are known.
BatchParts batch_parts(const Trainer::Config& config, const Mesh& mesh);
/// Those of an evaluation, "evalers.held_out".
BatchParts evaluation_parts(const Trainer::Config& config, const std::string& name,
                            const Mesh& mesh);

/// Returns the numbers of parts, more than now, that divide the rows evenly among the devices, in
/// ascending order.
std::vector<int64_t> finer_parts(const BatchParts& batch);
/// Returns the most rows of an evaluation, below those computed at once now and halved as often as
/// it takes, for which fits(share) holds; `share` is that of the rows computed at once now. 0:
/// there are none.
int64_t evaluation_rows(const BatchParts& evaluation,
                        const std::function<bool(double share)>& fits);
/// Returns the most rows below the present ones, halved as often as `halvings` says, that the
/// devices share evenly; 0: there are none.
int64_t fewer_rows(const BatchParts& batch, int halvings);
/// Returns the field that makes so many parts, and its value: `learner.device_rows`, which divides
/// evaluations, too; `learner.microbatches` where the config sets that.
std::pair<std::string, int64_t> field_of_parts(const Trainer::Config& config,
                                               const BatchParts& batch, int64_t parts);

}  // namespace axle
