// axle generate --from DIR --prompt TEXT: text from a trained or imported model, as it appears.
#include <CLI/CLI.hpp>

#include "base/report.h"
#include "cli/arguments/model_arguments.h"
#include "cli/arguments/number_options.h"
#include "cli/arguments/prompt_argument.h"
#include "cli/arguments/runtime_arguments.h"
#include "cli/arguments/sampling_arguments.h"
#include "cli/verb.h"
#include "infer/text_generator.h"
#include "pjrt/make_runtime.h"
#include "runtime/mesh_devices.h"

namespace axle::cli {
namespace {

struct GenerateArguments {
  ModelArguments model;
  std::string prompt;
  GenerateOptions generate;
  SamplingArguments sampling;
  RuntimeArguments runtime;
};

void add(CLI::App& app, GenerateArguments& options, Output& out) {
  options.model.add_to(app);
  app.add_option("--prompt", options.prompt, "The text to continue; '-' reads it from stdin")
      ->required()
      ->type_name("TEXT");
  add_number<int64_t>(
      app, "--max-tokens", [&](int64_t count) { options.generate.max_tokens = count; },
      "Stop after so many tokens (default: 256)")
      ->type_name("N");
  options.sampling.add_to(app);
  options.runtime.add_to(app);
  options.runtime.add_mesh_to(app);
  out.add_json_flag(app);
}

ExitCode run(const GenerateArguments& options, Output& out) {
  GenerateOptions generate = options.generate;
  options.sampling.apply_to(generate);
  const std::string prompt = read_prompt(options.prompt);
  options.runtime.ensure_plugin();
  LoadedModel loaded = load_model(options.model.dir, options.model.weights());
  const auto runtime = make_runtime(options.runtime.runtime_options());
  const Mesh mesh =
      fit_mesh(options.runtime.mesh, runtime->topology(), options.runtime.num_devices);
  TextGenerator generator(std::move(loaded), *runtime, {.cache_dir = options.runtime.compile_cache},
                          mesh);

  bool begun = false;  // a refused prompt is not echoed
  const auto show = [&](std::string_view text) {
    if (out.json()) return;
    if (!std::exchange(begun, true)) out.write(prompt);
    out.write(text);
    out.flush();
  };
  const GeneratedText generated =
      naming_flags([&] { return generator.generate(prompt, generate, show); });
  if (out.json()) {
    out.write_json(to_json(generated));
  } else {
    out.write(begun ? "\n" : prompt + "\n");
    out.flush();
  }
  report_to_stderr(speed_text(generated));
  return ExitCode::kOk;
}

}  // namespace

const Verb<GenerateArguments> generate({
    .name = "generate",
    .help = "Generate text from a trained or imported model",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
