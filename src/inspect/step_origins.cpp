#include "inspect/step_origins.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/missing.h"

namespace axle {

StepOrigins origins_of_step(const Trainer::Config& config, int64_t step) {
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
