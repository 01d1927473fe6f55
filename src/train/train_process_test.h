// Training runs in processes of their own, to be killed, signalled and starved of disk space.
//
// The test program runs itself again; process_integration_test.cpp has the main function that turns
// into a run then.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/record/summary_writer.h"
#include "train/trainer.h"

namespace axle {

/// The first argument of a process that is to train: `<program> --train CONFIG.yaml DIR BACKEND
/// CACHE`.
inline constexpr std::string_view kTrainArgument = "--train";
/// What that process does; its exit code.
int train_in_this_process(const std::vector<std::string>& arguments);

/// Holds a run at given steps until the test lets it go on.
class Gate final : public SummaryWriter {
 public:
  struct Config {
    /// After the records of these steps; 0: before the first step, with the state in place.
    std::vector<int64_t> steps = {};
    /// In the first compilation by the plugin "cpu" too, which is under way then.
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

/// Starts at once; killed when destroyed before its end.
class TrainProcess {
 public:
  /// The run's folder is DIR/NAME; DIR/NAME.yaml holds the config, DIR/cache compiled programs.
  TrainProcess(const Trainer::Config& config, const std::filesystem::path& dir,
               const std::string& name, const std::string& backend = "interpreter");
  ~TrainProcess();
  TrainProcess(const TrainProcess&) = delete;
  TrainProcess& operator=(const TrainProcess&) = delete;

  /// Reads what it prints until `text` comes; false if it ends before.
  bool wait_for(std::string_view text);
  /// Waits for the gate of `step`.
  bool wait_at_gate(int64_t step);
  bool wait_at_compiler();
  void open_gate();
  /// From now on nobody reads what it prints, as when a terminal goes.
  void close_output();
  /// From now on its console takes nothing, as when a pager or Ctrl-S holds it: nobody reads the
  /// pipe, which is full.
  void fill_output();
  void signal(int number);
  /// Lets it write files no longer than this, or again as long as it likes.
  void limit_files(int64_t bytes);
  void unlimit_files();
  /// Reads the rest and waits for the end: the exit code, or minus the number of the signal that
  /// killed it.
  int wait();
  /// The same without reading. Fails the test and kills it where it does not end within a minute.
  int wait_unread();
  /// All that it has printed so far, both streams.
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
