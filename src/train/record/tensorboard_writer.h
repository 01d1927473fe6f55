// TensorBoard event files in DIR/tensorboard.
#pragma once

#include <memory>
#include <optional>

#include "checkpoint/folder.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "io/event_file.h"
#include "train/record/summary_writer.h"

namespace axle {

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
