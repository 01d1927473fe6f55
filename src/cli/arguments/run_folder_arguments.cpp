#include "cli/arguments/run_folder_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "checkpoint/folder.h"
#include "checkpoint/run_files.h"
#include "io/file.h"
#include "recipes/fine_tune.h"
#include "train/trainer.h"

namespace axle::cli {

void RunFolderArguments::add_to(CLI::App& app) {
  app.add_option("--dir", dir,
                 "Run folder: checkpoints, metrics.jsonl, config.yaml (default: runs/<recipe>)")
      ->type_name("DIR");
  app.add_flag_callback(
      "--no-resume", [this] { resume = false; },
      "Refuse a folder with a checkpoint (default: resume from the newest)");
  app.add_flag("--force", force, "Resume although the config has changed");
  app.add_flag("--restart-data", restart_data,
               "Resume with the data from their first row; the data may differ");
  app.add_option("--schedule", schedule,
                 "On a resume with other --steps: keep the ends of schedules, or stretch them to "
                 "the new end (default)")
      ->type_name("keep|stretch")
      ->check(CLI::IsMember({"keep", "stretch"}).description(""));
}

std::string RunFolderArguments::named(const std::string& recipe) const {
  if (!dir.empty()) return dir;
  if (recipe.empty())
    throw ConfigError("--dir: expected a folder for the run of a whole config, got none");
  return "runs/" + recipe;
}

bool RunFolderArguments::resumes(const std::filesystem::path& folder) const {
  return resume && !checkpoint_steps(checkpoints_of(folder)).empty();
}

std::filesystem::path RunFolderArguments::resumed(const InitFrom& init) const {
  if (dir.empty() && init.folder.empty()) return {};
  const std::string folder = named(init.folder.empty() ? "" : fine_tuned_name(init.folder));
  return resumes(folder) ? folder : "";
}

void RunFolderArguments::check_has_checkpoint() const {
  if (dir.empty() || !resume || resumes(dir) || !path_exists(config_file_of(dir))) return;
  throw ConfigError(fmt::format(
      "--dir {}: expected a run with a checkpoint to go on from, got one that has none yet; give "
      "the whole command again, which begins it anew",
      dir));
}

void RunFolderArguments::apply_to(RunOptions& options) const {
  options.resume = resume;
  options.force = force;
  options.restart_data = restart_data;
  options.keep_schedules = schedule == "keep";
}

}  // namespace axle::cli
