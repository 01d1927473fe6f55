#include "train/trainer.h"

#include "config/register.h"
#include "train/run_setup.h"
#include "train/training_loop.h"

namespace axle {

Trainer::Trainer(const Config& config, RunOptions options)
    : setup_(std::make_unique<RunSetup>(config, std::move(options))) {}
Trainer::~Trainer() = default;

ExitCode Trainer::run() {
  const StopSignal signal;
  StartedRun run(*setup_);
  if (!run.has_work()) return ExitCode::kOk;
  run.compile([&] { return signal.requested() != ExitCode::kOk; });
  return TrainingLoop(run, signal).run();
}

AXLE_REGISTER(Trainer)

}  // namespace axle
