// The trainer, with all that a program needs to run it: the config of a run is in
// train/config/trainer_config.h, the options of one start are here.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/host_memory.h"
#include "pjrt/pjrt_runtime.h"
#include "train/config/trainer_config.h"
#include "train/program/initial_state.h"

namespace axle {

/// How a run is started, besides its config.
struct RunOptions {
  /// Folder of the run: checkpoints, metrics, the resolved config.
  std::filesystem::path dir;
  /// "cpu", "cuda", ... or "interpreter".
  std::string backend = "cpu";
  /// None: as many as the mesh names, or one if it names none.
  std::optional<int64_t> num_devices = {};
  /// True: continue from the newest checkpoint of `dir`, if there is one. False: start a new run,
  /// and refuse a folder with checkpoints.
  bool resume = true;
  /// Resume even if the config differs in fields that a resume may not change.
  bool force = false;
  /// Resume the training state, but read the data from their first row, even if they are other
  /// data.
  bool restart_data = false;
  /// Resume with the schedules of the saved run: those that end with the run do not move to other
  /// `max_steps`.
  bool keep_schedules = false;
  /// Directory of compiled programs; empty: none is kept.
  std::string compile_cache = {};
  /// A compiled step from `axle compile --save`; empty: the run compiles the step.
  std::filesystem::path executable = {};
  /// What a new run starts from; empty: random parameters.
  InitFrom init = {};
  /// After a step whose loss, gradient or new state is not finite, finds the op that made the first
  /// NaN or infinity, prints it, and ends the run. The host then waits for each step, and the
  /// devices keep the state before it.
  bool find_nan = false;
  /// Opens the devices.
  std::function<std::unique_ptr<Runtime>(const RuntimeOptions&)> open_runtime = make_runtime;
  /// Returns the memory that the run may use.
  std::function<HostMemory()> host_memory = [] { return axle::host_memory(); };
};

}  // namespace axle
