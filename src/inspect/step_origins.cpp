#include "inspect/step_origins.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/missing.h"
#include "train/folder/run_metadata.h"

namespace axle {
namespace {

// A checkpoint of the run knows the data that its steps were made of.
void check_are_data_of(const std::filesystem::path& run, Input& input) {
  const std::optional<RunMetadata> saved = newest_metadata(run);
  if (!saved) return;
  try {
    restore_input(input, *saved, false);
  } catch (const DataError&) {
    throw DataError(
        fmt::format("{}: expected the data that the run was trained on, got other data; bring back "
                    "the files and the tokenizer as they were",
                    run.string()));
  }
}

}  // namespace

StepOrigins origins_of_step(const Trainer::Config& config, int64_t step,
                            const std::filesystem::path& run) {
  if (config.max_steps.has_value() && step > *config.max_steps) {
    throw ConfigError(
        fmt::format("--step {}: expected a step of the run, which has {} (max_steps), got a later "
                    "one",
                    step, int64_t{*config.max_steps}));
  }
  check_complete(config.model, "model");
  check_complete(config.input, "input");
  const auto model = config.model.build({}, Scope{.path = "model"});
  const auto input = config.input.build(
      {.vocab_size = model->vocab_size(), .seed = static_cast<uint64_t>(config.seed)},
      Scope{.path = "input"});
  check_are_data_of(run, *input);
  StepOrigins out{.step = step, .parts = input->origins_of_batch(step - 1)};
  if (out.parts.empty()) {
    throw ConfigError(fmt::format(
        "--step {}: expected a step whose batch has documents, got one {}", step,
        input->origins_of_batch(0).empty() ? "of an input without them" : "behind the data"));
  }
  return out;
}

std::string to_text(const StepOrigins& origins) {
  std::string out;
  for (const RowOrigin& part : origins.parts) {
    out += fmt::format("row {}: {}, tokens {} to {}\n", part.row, part.where, part.from,
                       part.from + part.count);
  }
  return out;
}

nlohmann::ordered_json to_json(const StepOrigins& origins) {
  auto parts = nlohmann::ordered_json::array();
  for (const RowOrigin& part : origins.parts) {
    parts.push_back({{"row", part.row},
                     {"where", part.where},
                     {"first_token", part.from},
                     {"last_token", part.from + part.count}});
  }
  return {{"step", origins.step}, {"parts", parts}};
}

}  // namespace axle
