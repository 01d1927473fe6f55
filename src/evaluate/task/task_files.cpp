#include "evaluate/task/task_files.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/text/utf8.h"
#include "config/mistakes.h"

namespace axle {

std::vector<Task> read_task_files(std::span<const std::filesystem::path> files,
                                  const TaskFilesOptions& options) {
  std::vector<Task> out;
  std::set<std::string> names;
  Mistakes mistakes;
  for (const auto& file : files) {
    mistakes.passes([&] {
      TaskConfig config = read_task_config(file);
      if (options.num_fewshot && config.output_type != OutputType::kRolling)
        config.num_fewshot = *options.num_fewshot;
      if (!names.insert(config.name).second) {
        throw ConfigError(fmt::format("{}: task: expected a name of its own, got '{}' twice",
                                      file.string(), printable(config.name)));
      }
      Task task(std::move(config));
      task.questions(options.limit);
      out.push_back(std::move(task));
    });
  }
  mistakes.throw_any();
  return out;
}

}  // namespace axle
