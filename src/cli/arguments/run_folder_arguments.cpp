#include "cli/arguments/run_folder_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "checkpoint/folder.h"
#include "cli/arguments/options.h"
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
      "the whole command again, which starts it over",
      dir));
}

void RunFolderArguments::apply_to(RunOptions& options) const {
  options.resume = resume;
  options.force = force;
  options.restart_data = restart_data;
  options.keep_schedules = schedule == "keep";
}

void InitArguments::add_to(CLI::App& app) {
  app.add_option(
         "--init-from", folder_,
         "A run, an import or a model of another program whose parameters a new run starts with; "
         "without a recipe, it goes on training that model")
      ->type_name("PATH");
  add_dtype(app, dtype_,
            "Without a recipe: dtype of the parameters (default: f32 for what is trained, and as "
            "stored for what is frozen)");
  app.add_option("--init-part", parts_,
                 "teacher=DIR: a run or an import whose parameters model.teacher of a new run "
                 "starts with; may be repeated")
      ->type_name("PART=DIR");
  app.add_flag("--upcycle", upcycle_,
               "The folder of --init-from holds a dense model: experts start as copies of its "
               "feed-forward layers");
}

InitFrom InitArguments::result() const {
  InitFrom out{.folder = folder_, .upcycle = upcycle_};
  for (const std::string& text : parts_) {
    const size_t equals = text.find('=');
    const std::string part = text.substr(0, equals);
    if (equals == std::string::npos || part.empty() || equals + 1 == text.size()) {
      throw ConfigError(fmt::format(
          "--init-part: expected PART=DIR, such as teacher=runs/large, got '{}'", text));
    }
    if (const std::string problem = path_problem(text.substr(equals + 1)); !problem.empty())
      throw ConfigError("--init-part: " + problem);
    if (!out.submodels.emplace(part, text.substr(equals + 1)).second)
      throw ConfigError(fmt::format("--init-part: expected one folder for {}, got two", part));
  }
  return out;
}

}  // namespace axle::cli
