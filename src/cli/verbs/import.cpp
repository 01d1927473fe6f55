// axle import PATH --out DIR: imports a model of another program into a folder that `axle generate`
// reads.
#include <CLI/CLI.hpp>

#include "cli/arguments/options.h"
#include "cli/output.h"
#include "interop/import_model.h"

namespace axle::cli {
namespace {

void add(CLI::App& app, ImportRequest& request, Output& out) {
  app.add_option("PATH", request.source,
                 "A folder of Hugging Face, a GGUF file, or weights of llama2.c (version 0)")
      ->required()
      ->type_name("");
  app.add_option(
         "--tokenizer", request.options.tokenizer,
         "The tokenizer, of any kind (tokenizer.json, SentencePiece, ranks, Tekken, llama2.c); "
         "by default the one in the folder")
      ->type_name("FILE");
  app.add_option("--out", request.dir, "The folder to create")->required()->type_name("DIR");
  add_ignore(app, request.options.read.ignored);
  add_dtype(app, request.options.read.dtypes.all,
            "Dtype of the parameters (default: that of the files, f32 for f16 and blocks)");
  out.add_json_flag(app);
}

ExitCode run(const ImportRequest& request, Output& out) {
  out.report(import_model(request));
  return ExitCode::kOk;
}

}  // namespace

const Verb<ImportRequest> import_verb({
    .name = "import",
    .help = "Import a model of another program",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
