#include "cli/arguments/model_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "cli/arguments/options.h"
#include "fetch/fetch_plugin.h"
#include "io/file.h"
#include "nn/invocation.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/find_plugin.h"
#include "runtime/mesh_devices.h"

namespace axle::cli {

void ModelArguments::add_to(CLI::App& app) {
  app.add_option("--from", dir, "A run, an import or a model of another program")
      ->required()
      ->type_name("DIR");
  add_ignore(app, ignored);
  app.add_flag("--ema", average, "Take the averaged parameters");
}

void CheckpointArguments::add_to(CLI::App& app) {
  app.add_option("DIR", selection_.dir, "Folder of a run or of an import")
      ->required()
      ->type_name("");
  add_number(app, "--step", selection_.step, "The checkpoint of step N (default: the newest)")
      ->type_name("N");
  app.add_option("--only", selection_.only,
                 "Names that match: 'decoder/**/weight', * within a part, ** over parts")
      ->type_name("GLOB");
  CLI::Option* const ema = app.add_flag("--ema", average_, "The averaged parameters");
  app.add_flag("--state", state_, "All of the training state, optimizer and PRNG key included")
      ->excludes(ema);
}

CheckpointSelection CheckpointArguments::selection() const {
  CheckpointSelection out = selection_;
  if (average_) out.weights = Weights::kAverage;
  if (state_) out.weights = std::nullopt;
  return out;
}

void RuntimeArguments::add_to(CLI::App& app) {
  add_backend_to(app);
  add_number<int64_t>(
      app, "--devices",
      [this](int64_t count) {
        check_device_count("--devices", count);
        num_devices = count;
      },
      "Devices to use; on cpu they are virtual (default: as many as the mesh has)")
      ->type_name("N");
}

void RuntimeArguments::add_backend_to(CLI::App& app) {
  app.add_option("--backend", backend,
                 "cpu, cuda, tpu (PJRT plugins) or interpreter (default: cpu)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--compile-cache",
         [this](const std::string& name) { compile_cache = parse_compile_cache(name); },
         "Keep compiled programs in this folder, or 'none' (default: axle/programs in "
         "~/.cache)")
      ->type_name("DIR");
  app.add_flag("--yes", yes, "Fetch the backend's plugin without asking, if it is missing");
}

void RuntimeArguments::ensure_plugin() const {
  if (!plugin_pins(backend) || find_plugin_file(plugin_policy(backend))) return;
  axle::ensure_plugin(backend, terminal_fetch_options(yes));
}

void RuntimeArguments::add_mesh_to(CLI::App& app) {
  app.add_option_function<std::string>(
         "--mesh", [this](const std::string& text) { from_text(text, mesh); },
         "Devices as named axes: fsdp=2,model=2 (default: one device)")
      ->type_name("AXES")
      ->trigger_on_parse();
}

RuntimeOptions RuntimeArguments::runtime_options() const {
  return {.backend = backend, .num_devices = num_devices.value_or(num_mesh_devices(mesh))};
}

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

namespace {

constexpr size_t kMaxPromptBytes = 16 << 20;

}  // namespace

std::string read_prompt(const std::string& argument) {
  if (argument != "-") return argument;
  std::string text;
  std::array<char, 4096> part;
  while (std::cin.read(part.data(), part.size()), std::cin.gcount() > 0) {
    text.append(part.data(), static_cast<size_t>(std::cin.gcount()));
    if (text.size() > kMaxPromptBytes)
      throw ConfigError("--prompt: expected at most 16 MiB on stdin, got more");
  }
  // A failed read of stdin also puts std::cin at its end.
  if (std::ferror(stdin)) fail_storage("stdin", "read the prompt", errno);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace axle::cli
