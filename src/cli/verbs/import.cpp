// axle import llama2c FILE --tokenizer T --dir D: imports weights of llama2.c into a folder that
// `axle generate` reads.
#include <CLI/CLI.hpp>

#include "cli/verb.h"
#include "interop/import_model.h"

namespace axle::cli {
namespace {

void add(CLI::App& app, ImportRequest& request, Output&) {
  app.add_option("FILE", request.weights, "Weights, as its trainer exports them (version 0)")
      ->required()
      ->type_name("");
  app.add_option("--tokenizer", request.tokenizer,
                 "Its vocabulary (.bin), or a SentencePiece model (.model)")
      ->required()
      ->type_name("FILE");
  app.add_option("--dir", request.dir, "The folder to create")->required()->type_name("DIR");
}

ExitCode run(const ImportRequest& request, Output& out) {
  out.write(to_text(import_llama2c(request)));
  return ExitCode::kOk;
}

}  // namespace

const Verb<ImportRequest> import_llama2c_verb({
    .name = "import llama2c",
    .help = "Import weights of llama2.c",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
