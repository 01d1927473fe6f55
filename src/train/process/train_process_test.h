// Training runs in separate processes, which a test can kill, signal and starve of disk space.
//
// The test program runs itself again. The main function of process_integration_test.cpp then
// becomes a training run.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/record/summary_writer.h"
#include "train/trainer.h"

namespace axle {

/// The first argument of a training process: `<program> --train CONFIG.yaml DIR BACKEND CACHE`.
inline constexpr std::string_view kTrainArgument = "--train";
/// Runs the training of a training process, and returns its exit code.
int train_in_this_process(const std::vector<std::string>& arguments);

/// Holds a run at given steps until the test lets it continue.
class Gate final : public SummaryWriter {
 public:
  struct Config {
    /// Steps after whose records the run is held; 0: before the first step, with the state in
    /// place.
    std::vector<int64_t> steps = {};
    /// Also hold the first compilation by the plugin "cpu", while it is under way.
    bool compiler = false;
    AXLE_CONFIG(Gate, steps, compiler)
  };
  Gate(const Config& cfg, const Dims& dims, const Scope& scope);
  void write(const StepRecord& record) override;
  void flush() override {}

 private:
  void hold_at(int64_t step) const;
  std::vector<int64_t> steps_;
};

/// A training run in a process of its own. The constructor starts it; the destructor kills it if it
/// still runs.
class TrainProcess {
 public:
  /// The run's folder is DIR/NAME; DIR/NAME.yaml holds the config, DIR/cache compiled programs.
  TrainProcess(const Trainer::Config& config, const std::filesystem::path& dir,
               const std::string& name, const std::string& backend = "interpreter");
  ~TrainProcess();
  TrainProcess(const TrainProcess&) = delete;
  TrainProcess& operator=(const TrainProcess&) = delete;

  /// Reads the output until `text` appears. False if the process ends before.
  bool wait_for(std::string_view text);
  /// Waits until the run is held at `step`.
  bool wait_at_gate(int64_t step);
  bool wait_at_compiler();
  void open_gate();
  /// Closes the reading end of the output, as when a terminal is closed.
  void close_output();
  /// Makes the output block, as when a pager or Ctrl-S stops a console: fills the pipe and does not
  /// read it.
  void fill_output();
  /// Sends a signal, and returns when a thread of the run has taken it.
  void signal(int number);
  /// Limits the size of files that the process can write; unlimit_files() lifts the limit.
  void limit_files(int64_t bytes);
  void unlimit_files();
  /// Reads the rest of the output and waits for the end. Returns the exit code, or minus the number
  /// of the signal that killed the process.
  int wait();
  /// Like wait(), without reading the output. If the process does not end within a minute, fails
  /// the test and kills it.
  int wait_unread();
  /// Everything that the process has printed so far, on both streams.
  const std::string& output() const { return output_; }

 private:
  bool read_some();
  int end();
  pid_t pid_ = -1;
  int output_fd_ = -1, gate_fd_ = -1;
  std::string output_;
  size_t searched_ = 0;
};

}  // namespace axle
