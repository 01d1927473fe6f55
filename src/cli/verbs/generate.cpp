// axle generate --from DIR --prompt TEXT: text from a trained or imported model, as it appears.
// axle generate --from DIR --chat: a conversation with it.
#include <CLI/CLI.hpp>

#include "cli/arguments/model_arguments.h"
#include "cli/arguments/options.h"
#include "cli/output.h"
#include "pjrt/pjrt_runtime.h"
#include "runtime/mesh_devices.h"

namespace axle::cli {
namespace {

struct GenerateArguments {
  ModelArguments model;
  std::optional<std::string> prompt, system, chat_template;
  bool chat = false;
  GenerateOptions generate;
  SamplingArguments sampling;
  RuntimeArguments runtime;
};

void add(CLI::App& app, GenerateArguments& options, Output& out) {
  options.model.add_to(app);
  app.add_option("--prompt", options.prompt,
                 "The text to continue, or the message to answer; '-' reads it from stdin")
      ->type_name("TEXT");
  app.add_flag("--chat", options.chat,
               "Answer messages by the model's chat template; without --prompt, "
               "each line of stdin is one");
  app.add_option("--system", options.system, "The system's message, before all others")
      ->type_name("TEXT");
  app.add_option("--chat-template", options.chat_template,
                 "A chat template in place of the model's: *.jinja, tokenizer_config.json, GGUF")
      ->type_name("FILE");
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
  if (!options.prompt && !options.chat) throw ConfigError("--prompt is required without --chat");
  if (!options.chat && (options.system || options.chat_template))
    throw ConfigError("--system, --chat-template: expected --chat beside them, got none");
  std::optional<std::string> message;
  if (options.prompt) message = read_prompt(*options.prompt);
  const std::string prompt = message.value_or("");
  options.runtime.ensure_plugin();
  LoadedModel loaded = load_model(options.model.path(), options.model.weights());
  std::optional<ChatTemplate> chat;
  if (options.chat) chat.emplace(chat_template_of(loaded, options.chat_template));
  const auto runtime = make_runtime(options.runtime.runtime_options());
  const Mesh mesh =
      fit_mesh(options.runtime.mesh, runtime->topology(), options.runtime.num_devices);
  TextGenerator generator(std::move(loaded), *runtime, {.cache_dir = options.runtime.compile_cache},
                          mesh);
  if (chat) {
    ChatSession session(generator, std::move(*chat), options.system);
    converse(session, message, generate, out);
    return ExitCode::kOk;
  }
  GeneratedOutput shown(out, prompt);
  shown.finish(naming_flags([&] { return generator.generate(prompt, generate, shown.on_text()); }));
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
