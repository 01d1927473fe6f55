// Where the numbers of a run go.
#pragma once

#include <filesystem>
#include <string>

#include "base/tree.h"
#include "config/fields/child.h"

namespace axle {

/// The numbers of one step, or of one evaluation after it.
struct StepRecord {
  int64_t step = 0;
  /// "" for a training step, else the name of the evaler.
  std::string split = {};
  Tree<double> values = {};
};

/// Takes records in the order of steps.
class SummaryWriter {
 public:
  using Role = SummaryWriter;
  struct Dims {
    /// Folder of the run.
    std::filesystem::path dir;
    /// Records of later steps, from a run that went on after the checkpoint, are dropped; -1 for a
    /// fresh run.
    int64_t restored_step;
  };
  virtual ~SummaryWriter() = default;
  /// Never throws for a failing disk: what could not be written is counted and told once by the
  /// writer. May throw StorageError, once, where its files were taken away.
  virtual void write(const StepRecord& record) = 0;
  virtual void flush() = 0;
};

}  // namespace axle
