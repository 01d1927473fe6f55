// The flags that name the folder of a run, and what a new run starts from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "train/program/initial_state.h"

namespace CLI {
class App;
}

namespace axle {
struct RunOptions;
}

namespace axle::cli {

/// --dir, --no-resume, --force, --restart-data and --schedule.
struct RunFolderArguments {
  std::string dir, schedule;
  bool resume = true, force = false, restart_data = false;

  void add_to(CLI::App& app);
  /// The folder of the run of a recipe. Throws ConfigError if neither a flag nor a recipe names it.
  std::string named(const std::string& recipe) const;
  /// True if the run in `folder` goes on.
  bool resumes(const std::filesystem::path& folder) const;
  /// The folder of a run that goes on, as far as it is known before the config; empty: it is a new
  /// run, or not known yet.
  std::filesystem::path resumed(const InitFrom& init) const;
  /// Throws ConfigError for the folder of a run that ended before its first checkpoint. Without a
  /// recipe and a start, nothing says what it began with.
  void check_has_checkpoint() const;
  void apply_to(RunOptions& options) const;
};

class InitArguments {
 public:
  void add_to(CLI::App& app);
  /// Throws ConfigError unless each --init-part reads PART=DIR and names a part of its own.
  InitFrom result() const;
  /// The dtype of the parameters of the model that --init-from names; none: as stored.
  const std::optional<DType>& dtype() const { return dtype_; }

 private:
  std::string folder_;
  std::optional<DType> dtype_;
  std::vector<std::string> parts_;
  bool upcycle_ = false;
};

}  // namespace axle::cli
