#include "cli/arguments/init_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/arguments/dtype_option.h"
#include "io/user_path.h"

namespace axle::cli {

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
    if (!out.parts.emplace(part, text.substr(equals + 1)).second)
      throw ConfigError(fmt::format("--init-part: expected one folder for {}, got two", part));
  }
  return out;
}

}  // namespace axle::cli
