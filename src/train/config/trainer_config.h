// The config of a run: the root config of every recipe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text/text.h"
#include "checkpoint/checkpointer.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "data/input.h"
#include "ir/devices/mesh.h"
#include "layers/models/model.h"
#include "learn/learner.h"
#include "modifiers/modifier.h"
#include "nn/invocation.h"
#include "train/evaluation/evaler.h"
#include "train/evaluation/task_evaler.h"
#include "train/record/summary_writer.h"

namespace axle {

struct RunOptions;
struct RunSetup;

/// What happens after a step whose loss or gradient is not finite. The step program itself keeps
/// the old state. A new state that is not finite ends the run in any case.
///
///   stop   the run ends. The same command does not resume it; on_non_finite=skip or --force does.
///   skip   the run continues with the next batch.
enum class OnNonFinite { kStop, kSkip };
constexpr auto texts_of(OnNonFinite) {
  return std::to_array<EnumText<OnNonFinite>>(
      {{OnNonFinite::kStop, "stop"}, {OnNonFinite::kSkip, "skip"}});
}

/// The number of steps of a run. Programs count steps in i32.
using StepCount = Ranged<int64_t, Bounds{.min = 1, .max = 2147483647}>;

/// Trains a model as its config says: initialises or restores the state, then steps, logs,
/// evaluates and saves until `max_steps`.
class Trainer {
 public:
  struct Config {
    /// What is trained.
    Child<Model> model = default_model();
    /// What it is trained on.
    Child<Input> input = {};
    /// How gradients become updates.
    Child<Learner> learner = Learner::Config{};
    /// When checkpoints are saved, and which ones are kept.
    Checkpointer::Config checkpointer = {};
    /// Evaluations during training, by name. The name is the `split` of their records.
    NamedMap<Evaler::Config> evalers = {};
    /// Tasks put to the model during training, by names that no evaler has.
    NamedMap<TaskEvaler::Config> task_evalers = {};
    /// Steps of the whole run, including those before a resume.
    Required<StepCount> max_steps = REQUIRED;
    /// Seed of initialisation, dropout and the order of data.
    Seed seed = 0;
    /// Devices as named axes, "data=2,fsdp=-1"; no axes: one device.
    Mesh mesh = {};
    /// Mesh axes that each dim of a batch is sharded over.
    PartitionSpec batch_partition = {.dims = {{"data", "expert", "fsdp"}, "seq"}};
    /// Changes for certain machines. The first rule that matches the machine is applied, before
    /// files and flags.
    MeshRules mesh_rules = {};
    /// Type that parameters and inputs are cast to at the start of a step; none: they stay as
    /// stored (f32).
    std::optional<FloatDType> compute_dtype = {};
    /// Options of the step's compilation, by the names that the plugin's compiler uses. They
    /// override Axle's own choices for the device.
    std::map<std::string, std::string> compiler_options = {};
    /// What happens after a step whose loss or gradient is not finite.
    OnNonFinite on_non_finite = OnNonFinite::kStop;
    /// Steps between lines on the console; metrics.jsonl has every step.
    Positive<int64_t> log_every_steps = 10;
    /// Compute and write the summaries of layers in every step. If false, summaries cost nothing.
    bool layer_summaries = false;
    /// Writers of metrics besides metrics.jsonl, which is always written.
    NamedMap<Child<SummaryWriter>> writers = {};
    AXLE_CONFIG(Trainer, model, input, learner, checkpointer, evalers, task_evalers, max_steps,
                seed, mesh, batch_partition, mesh_rules, compute_dtype, compiler_options,
                on_non_finite, log_every_steps, layer_summaries, writers)
  };

  /// Throws ConfigError for an incomplete config or one that cannot be built. A caller includes
  /// train/trainer.h, which has the options.
  explicit Trainer(const Config& config, RunOptions options);
  ~Trainer();
  /// Runs to the end. Returns kOk, or kInterruptedAndSaved / kTerminatedAndSaved after a signal.
  /// Throws DataError, DeviceError, StorageError (only if nothing can be saved at all), and Error
  /// with kValidationFailed for a non-finite step.
  ExitCode run();

 private:
  std::unique_ptr<RunSetup> setup_;
};

/// Fills fields that an evaler's input leaves open with the values of the run's own input:
/// tokenizer, seq_len, batch_size, prompt and position_streams. An evaler that reads the same text
/// as the run, or names no text, also takes over the fields of the source and held_out_fraction.
/// Throws ConfigError if an evaler has another tokenizer than the run, if the run does not hold out
/// exactly the text that an evaler reads, and if an evaler on held-out text holds out nothing.
void complete_evaler_inputs(Trainer::Config& config);

}  // namespace axle
