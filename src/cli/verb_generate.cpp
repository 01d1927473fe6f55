// axle generate --from DIR --prompt TEXT: text from a trained or imported model, as it appears.
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>

#include "base/report.h"
#include "cli/number_checks.h"
#include "cli/runtime_arguments.h"
#include "cli/verb.h"
#include "infer/text_generator.h"

namespace axle::cli {
namespace {

struct GenerateArguments {
  std::string dir, prompt;
  GenerateOptions generate;
  bool average = false;
  RuntimeArguments runtime;
};

void add(CLI::App& app, GenerateArguments& options, Output& out) {
  GenerateOptions& g = options.generate;
  app.add_option("--from", options.dir, "Folder of a run or of an import")
      ->required()
      ->type_name("DIR");
  app.add_option("--prompt", options.prompt, "The text to go on from; '-' reads it from stdin")
      ->required()
      ->type_name("TEXT");
  app.add_option("--max-tokens", g.max_tokens, "Stop after so many tokens (default: 256)")
      ->type_name("N")
      ->check(check_number<int64_t>);
  app.add_option("--temperature", g.sampling.temperature,
                 "0: always the most likely token (default)")
      ->type_name("T")
      ->check(check_number<double>);
  app.add_option("--top-k", g.sampling.top_k, "Draw from the K most likely tokens alone")
      ->type_name("K")
      ->check(check_number<int64_t>);
  app.add_option("--top-p", g.sampling.top_p,
                 "Draw from the fewest tokens that have the probability P together")
      ->type_name("P")
      ->check(check_number<double>);
  app.add_option("--seed", g.seed, "Of what is drawn (default: 0)")
      ->type_name("N")
      ->check(check_number<int64_t>);
  app.add_flag("--ema", options.average, "Take the averaged parameters");
  options.runtime.add_to(app);
  out.add_json_flag(app);
}

std::string read_prompt(const std::string& argument) {
  if (argument != "-") return argument;
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

ExitCode run(const GenerateArguments& options, Output& out) {
  check(options.generate.sampling);
  const std::string prompt = read_prompt(options.prompt);
  options.runtime.ensure_plugin();
  LoadedModel loaded =
      load_model(options.dir, options.average ? Weights::kAverage : Weights::kTrained);
  const auto runtime = make_runtime(
      {.backend = options.runtime.backend, .num_devices = options.runtime.num_devices.value_or(1)});
  TextGenerator generator(std::move(loaded), *runtime,
                          {.cache_dir = options.runtime.compile_cache});

  bool begun = false;  // a refused prompt is not echoed
  const GeneratedText generated =
      generator.generate(prompt, options.generate, [&](std::string_view text) {
        if (out.json()) return;
        if (!std::exchange(begun, true)) out.write(prompt);
        out.write(text);
        out.flush();
      });
  if (out.json()) {
    out.write(to_json(generated).dump(2) + "\n");
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
