// The memory that a run needs: of the host, compared with what it has before anything is allocated
// (one rule for `train` and `config check`), and of the devices, once the programs are compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory_estimate.h"
#include "train/config/microbatches.h"
#include "train/config/trainer_config.h"
#include "train/program/programs.h"

namespace axle {

class RunMemory {
 public:
  /// `config` and `spec` are those of the run and must outlive this. `memory` is what the host has
  /// before the run allocates anything.
  RunMemory(const Trainer::Config& config, const ProgramSpec& spec, std::string platform,
            HostMemory memory);

  /// Throws Error with kDoesNotFit if the state and, at least, the programs need more than there
  /// is. The first program is the step, the others are evaluations. The message names what takes
  /// the most and, if there are any, changes of the config that fit by the same estimate.
  void check(std::span<const TracedProgram> programs) const;
  /// Does the same by the figures of the compiled programs, where the plugin reports them.
  void check_compiled(std::span<const TracedProgram> programs,
                      std::span<const NamedProgram> compiled) const;
  /// Returns the most rows of a batch, `rows` at most, whose step fits by the estimate; 0: none.
  int64_t rows_that_fit(int64_t rows) const;

 private:
  // The temporaries of a program, as estimated or compiled, and how many times the estimate is to
  // be taken for changed programs.
  struct Need {
    std::string program;
    double bytes = 0, scale = 1;
  };
  std::optional<double> step_bytes(const std::string& field, int64_t value) const;
  bool fits(double program_bytes) const;
  struct Setting {
    std::string field;
    int64_t value = 0;
    double bytes = 0;  // of the program
  };
  std::optional<Setting> step_change(double scale) const;
  std::optional<Setting> evaluation_change(const Need& need, const Microbatches& evaluation) const;
  void check_with(std::span<const HostNeed> most, std::span<const Need> needs) const;

  const Trainer::Config& config_;
  const ProgramSpec& spec_;
  std::string platform_;
  HostMemory memory_;
  std::vector<HostNeed> state_;
  int64_t rows_ = 0;
};

/// Throws DeviceError (kDoesNotFit) naming the first program that needs more memory than a device
/// has. The programs run one after another, the step first; the step's arguments stay on the
/// devices while the other programs run. Programs and devices whose memory the plugin does not
/// report pass the check.
void check_device_memory(std::span<const NamedProgram> programs, const Topology& topology);

/// Returns "the step needs 63.2 of the 72.8 GiB that programs may use on a device". Empty if the
/// plugin does not report both sizes.
std::string device_memory_text(const NamedProgram& step, const Topology& topology);

}  // namespace axle
