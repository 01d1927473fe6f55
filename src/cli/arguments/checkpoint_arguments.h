// The arguments of the verbs that read checkpoints.
#pragma once

#include "inspect/checkpoint_tensors.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// DIR, --step, --only, --ema and --state.
class CheckpointArguments {
 public:
  void add_to(CLI::App& app);
  CheckpointSelection selection() const;

 private:
  CheckpointSelection selection_;
  bool average_ = false, state_ = false;
};

}  // namespace axle::cli
