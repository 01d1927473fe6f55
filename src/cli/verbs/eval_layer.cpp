// axle eval-layer FILE: runs a layer, schedule, optimizer or training run on given tensors, to
// compare it with another framework.
#include "base/error.h"
#include "cli/arguments/comparison_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"
#include "comparison/compare_tensors.h"
#include "comparison/eval_layer_files.h"
#include "pjrt/pjrt_runtime.h"

namespace axle::cli {
namespace {

ExitCode run(const EvalLayerArguments& o, Output& out) {
  o.check(out.json());
  check_output_file("--output", o.output, OutputKind::kResults,
                    {o.subject, o.inputs, o.params, o.rename, o.compare});
  const Tolerances tolerances(o.tolerances);
  const SubjectOptions options = o.options();
  ResolveReport changes;
  const EvalSubject subject = read_eval_subject(o.subject, &changes);
  print_changes(changes);
  const RenameRules rules =
      o.rename.empty() ? RenameRules() : RenameRules(read_user_file(o.rename), o.rename);
  const EvalLayerFiles files = read_eval_layer_files({o.inputs, o.params, o.compare}, rules,
                                                     input_sections(subject, options.layer.grad));
  std::optional<TensorReference> reference;
  if (!o.compare.empty()) {
    reference = open_reference(o.compare, rules, subject, options, o.inputs);
    tolerances.check_matches(reference->file, o.compare);
  }
  o.runtime.ensure_plugin();
  const auto runtime =
      make_runtime({.backend = o.runtime.backend, .compile_cache = o.runtime.compile_cache});
  const Tree<HostTensor> results = evaluate(subject, files.params, files.inputs, options, *runtime);
  if (!o.output.empty()) {
    if (o.their_names) {
      save_safetensors(o.output, files.with_file_names(results), kResultsMetadata);
    } else {
      save_safetensors(o.output, results, kResultsMetadata);
    }
    if (!out.json()) out.write(o.output + "\n");
  }
  if (!reference) return ExitCode::kOk;
  const TensorComparison comparison = compare_tensors(results, *reference, rules, tolerances);
  out.report(comparison);
  if (!comparison.agrees()) throw Error(comparison.summary(), ExitCode::kValidationFailed);
  return ExitCode::kOk;
}

}  // namespace

const Verb<EvalLayerArguments> eval_layer_verb({
    .name = "eval-layer",
    .help = "Run one layer, schedule, optimizer or some training steps on given tensors, to "
            "compare with another framework",
    .add =
        [](CLI::App& app, EvalLayerArguments& arguments, Output& out) {
          arguments.add_to(app);
          out.add_json_flag(app);
        },
    .run = run,
});

}  // namespace axle::cli
