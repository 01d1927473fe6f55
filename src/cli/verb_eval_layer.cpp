// axle eval-layer LAYER.yaml: one layer on given inputs, to compare it with another framework.
#include <CLI/CLI.hpp>

#include "cli/number_checks.h"
#include "cli/verb.h"
#include "inspect/eval_layer.h"
#include "inspect/eval_layer_files.h"
#include "io/safetensors.h"

namespace axle::cli {
namespace {

struct Options {
  std::string layer, inputs, params, rename, output, dtype, backend = "cpu";
  bool their_names = false;
  EvalLayerOptions eval;
};

void add(CLI::App& app, Options& o, Output&) {
  app.add_option("LAYER.yaml", o.layer,
                 "{class: Name, config: {...}, dims: {...}} (axle config list)")
      ->required()
      ->type_name("");
  app.add_option("--inputs", o.inputs, "in/<name>, state/<path>, cotangent/<i>")
      ->required()
      ->type_name("IN.safetensors");
  app.add_option("--params", o.params, "params/<path>; without it --seed")
      ->type_name("P.safetensors");
  app.add_option("--seed", o.eval.init_seed, "Initialise parameters by the key of N")
      ->type_name("N")
      ->check(check_number<int64_t>);
  app.add_option("--key", o.eval.call_key, "Call with the key of K: dropout")
      ->type_name("K")
      ->check(check_number<int64_t>);
  app.add_flag("--grad", o.eval.grad, "Also the vjp at cotangent/<i>");
  app.add_flag("--training", o.eval.training, "Call as in training");
  app.add_option("--method", o.eval.method, "Method of the layer (default: forward)")
      ->type_name("NAME");
  app.add_option("--rename", o.rename, "Lines 'theirs -> ours' for paths of parameters and inputs")
      ->type_name("FILE");
  app.add_flag("--their-names", o.their_names,
               "Write gradients under the names of --params and --inputs");
  app.add_option("--precision", o.dtype,
                 "Cast all floats first: f32, bf16, f64 (default: as they are)")
      ->type_name("DTYPE");
  app.add_option("--backend", o.backend, "cpu, cuda, tpu or interpreter (default: cpu)")
      ->type_name("NAME");
  app.add_option("--output", o.output,
                 "out, grad/, summaries/, aux_losses/, outputs/, state/, init_params/")
      ->required()
      ->type_name("OUT.safetensors");
}

ExitCode run(const Options& o, Output& out) {
  const auto layer = build_layer(parse_layer_file(read_user_file(o.layer), o.layer));
  const RenameRules rules =
      o.rename.empty() ? RenameRules() : RenameRules(read_user_file(o.rename), o.rename);
  EvalLayerOptions options = o.eval;
  if (!o.dtype.empty()) from_text(o.dtype, options.dtype.emplace());
  const EvalLayerFiles files = read_eval_layer_files(o.inputs, o.params, rules);
  const auto runtime = make_runtime({.backend = o.backend});
  Tree<HostTensor> results = eval_layer(*layer, files.params, files.inputs, options, *runtime);
  if (o.their_names) results = files.with_their_names(std::move(results));
  save_safetensors(o.output, results);
  out.write(o.output + "\n");
  return ExitCode::kOk;
}

}  // namespace

const Verb<Options> eval_layer_verb({
    .name = "eval-layer",
    .help =
        "Run one layer on given inputs, with its gradients, to compare it with another framework",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
