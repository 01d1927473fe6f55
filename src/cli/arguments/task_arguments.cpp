#include "cli/arguments/task_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/mistakes.h"
#include "cli/arguments/options.h"
#include "evaluate/task/task_config.h"
#include "io/file.h"

namespace axle::cli {
namespace {

// The files, those that they include, and those with their documents.
std::vector<std::string> files_of_tasks(const std::vector<std::string>& files) {
  std::vector<std::string> out = files;
  Mistakes mistakes;
  for (const std::string& file : files) {
    mistakes.passes([&] {
      const TaskConfig task = read_task_config(file);
      out.insert(out.end(), task.included.begin(), task.included.end());
      for (const auto& [split, documents] : task.data_files)
        out.insert(out.end(), documents.begin(), documents.end());
    });
  }
  mistakes.throw_any();
  return out;
}

}  // namespace

void TaskArguments::add_to(CLI::App& app) {
  app.add_option("--task", files,
                 "A task in the form of lm-evaluation-harness (YAML), instead of --data; again for "
                 "more")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_number<int64_t>(
      app, "--limit", [this](int64_t count) { limit = count; },
      "Ask about the first N documents of each task")
      ->type_name("N");
  add_number<int64_t>(
      app, "--num-fewshot", [this](int64_t count) { num_fewshot = count; },
      "Solved documents before each question; replaces the task's own number")
      ->type_name("N");
  add_number(app, "--batch-tokens", batch_tokens,
             "Score about N tokens at once (default: 4096); a row with more is scored alone",
             {.min = 1})
      ->type_name("N");
  app.add_option("--samples", samples,
                 "Write what the model says about each document, as JSON lines")
      ->type_name("FILE");
}

void TaskArguments::check(const std::string& model) const {
  if (files.empty()) {
    throw ConfigError(
        "--batch-tokens, --limit, --num-fewshot, --samples: expected use with --task, got none");
  }
  if (limit && *limit < 1)
    throw ConfigError(fmt::format("--limit: expected at least 1, got {}", *limit));
  if (num_fewshot && *num_fewshot < 0)
    throw ConfigError(fmt::format("--num-fewshot: expected at least 0, got {}", *num_fewshot));
  if (samples.empty()) return;
  std::vector<std::string> inputs = files_of_tasks(files);
  inputs.push_back(model);
  check_output_file("--samples", samples, OutputKind::kSamples, inputs);
}

EvalTasksOptions TaskArguments::options() const {
  EvalTasksOptions out;
  out.tasks.assign(files.begin(), files.end());
  out.limit = limit;
  out.num_fewshot = num_fewshot;
  if (batch_tokens) out.batch_tokens = *batch_tokens;
  out.samples = samples;
  return out;
}

}  // namespace axle::cli
