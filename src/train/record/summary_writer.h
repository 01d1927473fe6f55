// The interface for writing the metrics of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/tree.h"

namespace axle {

/// The metrics of one step, or of one evaluation after it.
struct StepRecord {
  int64_t step = 0;
  /// Empty for a training step, else the name of the evaler.
  std::string split = {};
  Tree<double> values = {};
};

/// Receives records in the order of their steps.
class SummaryWriter {
 public:
  using Role = SummaryWriter;
  struct Dims {
    /// Folder of the run.
    std::filesystem::path dir;
    /// The step of the checkpoint that was restored; 0 for a fresh run. Writers drop records of
    /// later steps, which the run wrote before the resume.
    int64_t restored_step;
    /// Text of the run's config; empty: not known.
    std::string config = {};
    /// Steps between the run's records; 0: not known.
    int64_t log_every = 0;
  };
  virtual ~SummaryWriter() = default;
  /// Never throws because of a failing disk: the writer counts lost records and reports the loss
  /// once. May throw StorageError, once, if its files were removed.
  virtual void write(const StepRecord& record) = 0;
  virtual void flush() = 0;
};

}  // namespace axle
