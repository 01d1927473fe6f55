// The arguments of verbs that read checkpoints or load a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "infer/generator.h"
#include "inspect/parameter_table.h"
#include "interop/model_folder.h"
#include "ir/devices/mesh.h"
#include "pjrt/pjrt_runtime.h"
#include "runtime/executable_cache.h"
#include "runtime/runtime.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --from, --ignore and --ema.
struct ModelArguments {
  std::string dir;
  std::vector<std::string> ignored;
  bool average = false;

  void add_to(CLI::App& app);
  ModelPath path() const { return {dir, ignored}; }
  Weights weights() const { return average ? Weights::kAverage : Weights::kTrained; }
};

/// DIR, --step, --only, --ema and --state.
class CheckpointArguments {
 public:
  void add_to(CLI::App& app);
  CheckpointSelection selection() const;

 private:
  CheckpointSelection selection_;
  bool average_ = false, state_ = false;
};

/// --backend, --compile-cache and --yes, and --devices and --mesh if the verb has them.
struct RuntimeArguments {
  std::string backend = "cpu";
  std::optional<int64_t> num_devices = {};
  /// Folder of the compile cache; empty: no cache.
  std::string compile_cache = default_compile_cache();
  bool yes = false;
  Mesh mesh = {};
  /// Adds the flags, including --devices.
  void add_to(CLI::App& app);
  /// Adds the flags without --devices, for verbs that run on one device.
  void add_backend_to(CLI::App& app);
  /// Adds --mesh, for verbs whose mesh does not come from a recipe.
  void add_mesh_to(CLI::App& app);
  /// Returns the runtime options of the flags. Without --devices: as many devices as the mesh has,
  /// or one.
  RuntimeOptions runtime_options() const;
  /// Makes sure that the backend's plugin is installed. Fetches a missing plugin after a yes, from
  /// the terminal or by --yes. Throws DeviceError.
  void ensure_plugin() const;
};

/// --temperature, --top-k, --top-p and --seed.
class SamplingArguments {
 public:
  void add_to(CLI::App& app);
  /// Applies the flags. Without --temperature, the temperature is 1 if another flag is set, else 0.
  /// Throws ConfigError for values out of range, and for a temperature of 0 together with another
  /// flag.
  void apply_to(GenerateOptions& options) const;

 private:
  std::optional<double> temperature_, top_p_;
  std::optional<int64_t> top_k_, seed_;
};

/// Returns the message of an error about an option with the option's flag in place of its name:
/// "--top-k: ..." for "top_k: ...".
std::string with_flag(std::string message);

/// Calls fn() and rethrows a ConfigError about an option with the option's flag.
template <class Fn>
auto naming_flags(const Fn& fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    throw ConfigError(with_flag(error.what()));
  }
}

/// Returns `argument`, or the text on stdin if it is "-", without the final newline. Throws
/// ConfigError if the text on stdin is too long for a prompt, StorageError if stdin can't be read.
std::string read_prompt(const std::string& argument);

}  // namespace axle::cli
