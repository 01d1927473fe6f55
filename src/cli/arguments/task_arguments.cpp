#include "cli/arguments/task_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/arguments/number_options.h"
#include "cli/arguments/output_file.h"

namespace axle::cli {

void TaskArguments::add_to(CLI::App& app) {
  app.add_option("--task", files,
                 "A task in the form of lm-evaluation-harness (YAML), in place of --data; again "
                 "for more")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_number<int64_t>(
      app, "--limit", [this](int64_t count) { limit = count; },
      "Ask about the first N documents of each task")
      ->type_name("N");
  add_number<int64_t>(
      app, "--num-fewshot", [this](int64_t count) { num_fewshot = count; },
      "Solved documents before each question, in place of the task's own number")
      ->type_name("N");
  add_number(app, "--batch-tokens", batch_tokens,
             "Score about N tokens at once, in place of 4096; a row with more is scored alone",
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
  std::vector<std::string> inputs = files;
  inputs.push_back(model);
  check_output_file("--samples", samples, std::nullopt, inputs);
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
