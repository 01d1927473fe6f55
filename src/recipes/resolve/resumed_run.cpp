#include "recipes/resolve/resumed_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/report.h"
#include "checkpoint/run_files.h"
#include "config/document/serialize.h"
#include "interop/tokenizer_paths.h"
#include "train/folder/run_metadata.h"

namespace axle {

RecipeFile config_of_run(const std::filesystem::path& run) {
  const std::string file = config_file_of(run).string(), kept = newest_config(run);
  return kept.empty() ? read_recipe_file(file) : parse_recipe_file(kept, file);
}

void take_kept_tokenizers(Resolved& resolved, const std::filesystem::path& run) {
  const nlohmann::ordered_json before = to_json(resolved.config);
  nlohmann::ordered_json after = before;
  take_kept_tokenizers(after, run, [&](const std::string& line) {
    if (std::ranges::count(resolved.report.warnings, line) == 0) report_to_stderr(line);
  });
  if (after != before) from_json(resolved.config, after);
}

}  // namespace axle
