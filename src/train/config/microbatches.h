// How the rows of a run's batches are divided: among devices, and into microbatches, which are
// computed one after another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/devices/mesh.h"
#include "train/config/trainer_config.h"

namespace axle {

struct Microbatches {
  int64_t rows = 0;    // of a batch; 0: the input does not say
  int64_t shares = 1;  // devices that share the rows
  int64_t count = 1;   // of the batch of a step
};
/// Those of the training batches on a mesh whose sizes are known.
Microbatches train_microbatches(const Trainer::Config& config, const Mesh& mesh);
/// Those of an evaluation, "evalers.held_out".
Microbatches evaluation_microbatches(const Trainer::Config& config, const std::string& name,
                                     const Mesh& mesh);

/// Returns the numbers of microbatches, more than now, that divide the rows evenly among the
/// devices, in ascending order.
std::vector<int64_t> finer_microbatches(const Microbatches& batch);
/// Returns the most rows of an evaluation, below those computed at once now and halved as often as
/// it takes, for which fits(share) holds; `share` is that of the rows computed at once now. 0:
/// there are none.
int64_t evaluation_rows(const Microbatches& evaluation,
                        const std::function<bool(double share)>& fits);
/// Returns the most rows below the present ones, halved as often as `halvings` says, that the
/// devices share evenly; 0: there are none.
int64_t fewer_rows(const Microbatches& batch, int halvings);
/// Returns the field that makes so many microbatches, and its value: `learner.device_rows`, which
/// divides evaluations, too; `learner.microbatches` where the config sets that.
std::pair<std::string, int64_t> microbatch_field(const Trainer::Config& config,
                                                 const Microbatches& batch, int64_t count);

}  // namespace axle
