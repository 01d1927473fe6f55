// A run before its first step: what its config gives, and where it starts.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpointer.h"
#include "train/config/run_modules.h"
#include "train/evaluation/evaluations.h"
#include "train/folder/run_folder.h"
#include "train/program/non_finite.h"
#include "train/program/programs.h"
#include "train/record/metrics.h"
#include "train/record/progress.h"
#include "train/run_memory.h"
#include "train/trainer.h"

namespace axle {

/// What the config and the options of a run give, before anything of its state is allocated: the
/// devices, the data, the traced programs and the folder. The members stand in the order of their
/// construction.
struct RunSetup {
  /// Throws as Trainer's constructor does.
  RunSetup(const Trainer::Config& config, RunOptions run_options);

  bool has_checkpoint() const;
  CompileOptions compile_options() const;
  /// All programs, the step first.
  std::vector<TracedProgram> traced() const;

  RunOptions options;
  RunModules modules;
  const Trainer::Config& config;                // of the modules
  std::future<std::unique_ptr<Input>> reading;  // opens the input while the devices are opened
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<Input> input;
  Mesh mesh;
  ProgramSpec spec;
  std::vector<CollectedTap> taps;
  Program step;
  DebugPrints prints;
  Evaluations evaluations;
  RunFolder folder;
  Checkpointer checkpointer;
};

/// Writes the records of a run: to metrics.jsonl and to the writers of its config.
class RunRecords {
 public:
  /// `folder` must outlive this.
  RunRecords(const Trainer::Config& config, RunFolder& folder, int64_t restored_step);
  /// Names of the evaluations of the restored step whose records are there.
  const std::set<std::string>& evaluated() const { return evaluated_; }
  /// write() and flush() throw StorageError if the run's folder or files were taken away, which
  /// ends the run. While the run is failing, they ignore it.
  void write(const StepRecord& record);
  void flush();
  /// Says that the run is ending with an error. Returns what is_failing() was.
  bool set_failing() { return std::exchange(is_failing_, true); }
  bool is_failing() const { return is_failing_; }

 private:
  template <class Fn>
  void in_place(const Fn& use);
  RunFolder& folder_;
  std::vector<std::unique_ptr<SummaryWriter>> writers_;
  std::set<std::string> evaluated_;
  bool is_failing_ = false;
};

/// A run that goes on from a checkpoint or begins: where it stands, and what it writes to.
struct StartedRun {
  /// Restores the newest checkpoint, or begins to draw the initial state, and takes the folder.
  /// `run_setup` must outlive this.
  explicit StartedRun(RunSetup& run_setup);

  /// True if steps or evaluations are left. Says so if no step is.
  bool has_work();
  /// Compiles all programs, so that one that fails does so before the first step. Returns early if
  /// `stop` asks for it. Then all of the state is on the devices.
  void compile(const StopCondition& stop);
  /// Warns of documents that were left out, if there are more than it has told.
  void tell_left_out();

  RunSetup& setup;
  StepClock clock;
  Progress progress;
  RunMemory memory;  // made before anything is allocated
  StepCost cost;
  DeviceState state;
  std::future<Arrays> drawn;  // initial state; computed while the programs are compiled
  int64_t step = 0, first_step = 0;
  int64_t num_left_out = 0;  // documents
  RunMetadata metadata;      // of the next checkpoint
  std::optional<RunRecords> records;
  std::unique_ptr<Executable> executable;
  std::optional<NonFiniteFinder> finder;

 private:
  void restore();
  void draw();
  void measure();
  void compile_step();
  std::vector<NamedProgram> compiled() const;
};

}  // namespace axle
