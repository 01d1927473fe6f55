// Writers of summaries for dashboards: the role, and event files of TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/tree.h"
#include "checkpoint/folder.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "io/event_file.h"

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

/// Writes TensorBoard event files in DIR/tensorboard. Training scalars are in the folder "train".
/// Those of an evaler are in a folder with its name, as TensorBoard compares runs ("eval/train" for
/// an evaler called "train"). Steps that a resume repeats are shown once. The config is a text of
/// "train", called "config".
class TensorBoardWriter final : public SummaryWriter {
 public:
  struct Config {
    /// Steps between training records. The last step of a run is recorded as well.
    Positive<int64_t> every_steps = 10;
    AXLE_CONFIG(TensorBoardWriter, every_steps)
  };
  TensorBoardWriter(const Config& cfg, const Dims& dims, const Scope&)
      : cfg_(cfg),
        dir_(event_files_of(dims.dir)),
        restored_step_(dims.restored_step),
        config_(dims.config) {}
  ~TensorBoardWriter() override;
  void write(const StepRecord& record) override;
  void flush() override;

 private:
  template <class F>
  void guarded(F&& f);
  void add(const StepRecord& record);
  Config cfg_;
  std::filesystem::path dir_;
  int64_t restored_step_;
  std::string config_;
  std::map<std::string, std::unique_ptr<EventFileWriter>> files_;
  std::optional<StepRecord> left_out_;  // the newest training record, if it is not in a file
  bool failed_ = false;
};

}  // namespace axle
