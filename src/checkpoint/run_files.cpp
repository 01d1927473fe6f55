#include "checkpoint/run_files.h"

#include <fmt/format.h>

#include "base/error.h"
#include "io/file.h"

namespace axle {

void check_config_file(const std::filesystem::path& run) {
  if (path_exists(config_file_of(run))) return;
  throw ConfigError(
      fmt::format("{}: expected the folder of a run or of an import, got one without config.yaml",
                  run.string()));
}

}  // namespace axle
