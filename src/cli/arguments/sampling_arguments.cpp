#include "cli/arguments/sampling_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/arguments/number_options.h"
#include "nn/seed.h"

namespace axle::cli {

void SamplingArguments::add_to(CLI::App& app) {
  add_number(app, "--temperature", temperature_,
             "0: always the most likely token (default; 1 with --top-k, --top-p or --seed)")
      ->type_name("T");
  add_number(app, "--top-k", top_k_, "Draw only from the K most likely tokens")->type_name("K");
  add_number(app, "--top-p", top_p_,
             "Draw only from the smallest set of tokens whose probabilities sum to P")
      ->type_name("P");
  add_number(app, "--seed", seed_, "Seed of the random draws (default: 0)", kSeedBounds)
      ->type_name("N");
}

void SamplingArguments::apply_to(GenerateOptions& options) const {
  const bool draws = top_k_ || top_p_ || seed_;
  options.sampling = {
      .temperature = temperature_.value_or(draws ? 1 : 0), .top_k = top_k_, .top_p = top_p_};
  options.seed = seed_.value_or(0);
  naming_flags([&] { check(options.sampling); });
  if (draws && options.sampling.temperature == 0) {
    throw ConfigError(
        "--temperature: expected more than 0 with --top-k, --top-p or --seed, got 0, which "
        "disables sampling");
  }
}

std::string with_flag(std::string message) {
  constexpr std::string_view kOptions[] = {"temperature", "top_k", "top_p", "max_tokens"};
  const size_t end = std::min(message.find(':'), message.size());
  if (std::ranges::count(kOptions, std::string_view(message).substr(0, end)) == 0) return message;
  std::replace(message.begin(), message.begin() + end, '_', '-');
  return "--" + message;
}

}  // namespace axle::cli
