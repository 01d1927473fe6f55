// The trainer: a recipe's root config, and the loop that runs it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/host_memory.h"
#include "checkpoint/checkpointer.h"
#include "config/config.h"
#include "data/input.h"
#include "ir/mesh.h"
#include "layers/causal_lm.h"
#include "learn/learner.h"
#include "modifiers/modifier.h"
#include "train/evaler.h"
#include "train/non_finite.h"
#include "train/summary_writer.h"

namespace axle {

/// How a run is started, beside its config.
struct RunOptions {
  /// Folder of the run: checkpoints, metrics, the resolved config.
  std::filesystem::path dir;
  /// "cpu", "cuda", ... or "interpreter".
  std::string backend = "cpu";
  /// None: as many as the mesh names, or one.
  std::optional<int64_t> num_devices = {};
  /// Go on from the newest checkpoint of `dir`, if there is one; false starts anew and refuses a
  /// folder with checkpoints.
  bool resume = true;
  /// Resume although the config differs in fields that are not marked safe.
  bool force = false;
  /// Resume with the data from their first row, whatever data the run was made with.
  bool restart_data = false;
  /// Directory of compiled programs; empty: none is kept.
  std::string compile_cache = {};
  /// The step as `axle compile --save` has kept it; empty: it is compiled.
  std::filesystem::path executable = {};
  /// Folder of a run or of an import whose parameters a new run starts with; empty: they are drawn.
  std::filesystem::path init_from = {};
  /// What opens the devices.
  std::function<std::unique_ptr<Runtime>(const RuntimeOptions&)> open_runtime = make_runtime;
  /// What tells the memory that the run may take.
  std::function<HostMemory()> host_memory = [] { return axle::host_memory(); };
};

/// Steps of a run: programs count them in i32.
using StepCount = Ranged<int64_t, Bounds{.min = 1, .max = 2147483647}>;

/// Trains a model as its config says: restore or initialise, then step, log, evaluate and save
/// until `max_steps`.
class Trainer {
 public:
  struct Config {
    /// What is trained.
    Child<Model> model = CausalLM::Config{};
    /// What it is trained on.
    Child<Input> input = {};
    /// How gradients become updates.
    Child<Learner> learner = Learner::Config{};
    /// When the state is saved, and what is kept.
    Checkpointer::Config checkpointer = {};
    /// By name; the name is the `split` of its records.
    NamedMap<Evaler::Config> evalers = {};
    /// Steps of the whole run, those before a resume included.
    Required<StepCount> max_steps = REQUIRED;
    /// Of initialisation, dropout and the order of data.
    int64_t seed = 0;
    /// Devices as named axes, "data=2,fsdp=-1"; none: one device.
    Mesh mesh = {};
    /// Mesh axes of a batch's dims.
    PartitionSpec batch_partition = {.dims = {{"data", "expert", "fsdp"}, "seq"}};
    /// What differs between machines; the first rule that matches is applied before files and
    /// flags.
    MeshRules mesh_rules = {};
    /// Parameters and inputs are cast to it at the top of the step; none: computed as stored (f32).
    std::optional<FloatDType> compute_dtype = {};
    /// Of the step, by the names that the plugin's compiler knows, on top of Axle's own choices for
    /// the device.
    std::map<std::string, std::string> compiler_options = {};
    /// What happens after a step whose loss, gradient or new state is not finite.
    NonFinite on_non_finite = NonFinite::kStop;
    /// Steps between lines of the console; metrics.jsonl has every step.
    Positive<int64_t> log_every_steps = 10;
    /// Layer summaries are computed and written in every step; off, they cost nothing.
    bool layer_summaries = false;
    /// Beside metrics.jsonl, which is always written.
    NamedMap<Child<SummaryWriter>> writers = {};
    AXLE_CONFIG(Trainer, model, input, learner, checkpointer, evalers, max_steps, seed, mesh,
                batch_partition, mesh_rules, compute_dtype, compiler_options, on_non_finite,
                log_every_steps, layer_summaries, writers)
  };

  /// Throws ConfigError for an incomplete config or one that cannot be built.
  explicit Trainer(const Config& config, RunOptions options);
  ~Trainer();
  /// Runs to the end: kOk, or kInterruptedAndSaved / kTerminatedAndSaved after a signal. Throws
  /// DataError, DeviceError, StorageError (only where nothing can be saved at all); Error with
  /// kValidationFailed for a non-finite step.
  ExitCode run();

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

/// The recipe registered under `name` by AXLE_REGISTER(function, "name"). Throws ConfigError with
/// the nearest name.
Trainer::Config recipe(std::string_view name);
/// All recipes, sorted.
std::vector<std::string> recipe_names();

}  // namespace axle
