// axle eval-op CASE.yaml: runs public tensor functions on given tensors, to compare them with
// another framework.
#include "comparison/eval_op.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/arguments/comparison_arguments.h"
#include "cli/arguments/options.h"
#include "cli/output.h"
#include "comparison/eval_layer_files.h"
#include "pjrt/pjrt_runtime.h"

namespace axle::cli {
namespace {

std::unique_ptr<Runtime> runtime_for(const EvalOpArguments& o, const std::vector<OpCase>& cases) {
  o.runtime.ensure_plugin();
  RuntimeOptions options = o.runtime.runtime_options();
  for (const OpCase& op : cases) {
    if (op.shard_map)
      options.num_devices = std::max(options.num_devices, op.shard_map->mesh.num_devices());
  }
  return make_runtime(options);
}

ExitCode run_cases(const EvalOpArguments& o, Output& out) {
  o.check();
  const ElementTolerance tolerance = o.element_tolerance();
  OpCases file = read_op_cases(o.cases);
  if (!o.inputs.empty()) file.inputs = o.inputs;
  check_output_file("--output", o.output, OutputKind::kResults, {o.cases, file.inputs, o.compare});
  std::optional<SafetensorsFile> inputs, reference;
  if (!file.inputs.empty()) inputs = open_tensor_file(file.inputs);
  if (!o.inputs.empty()) check_is_read(*inputs, file);
  if (!o.compare.empty()) reference = open_tensor_file(o.compare);
  keep_cases(o.only, file);
  OpRun done = run_op_cases(file,
                            {.inputs = inputs ? &*inputs : nullptr,
                             .reference = reference ? &*reference : nullptr,
                             .tolerance = tolerance,
                             .f64 = o.f64},
                            *runtime_for(o, file.cases));
  done.comparison.reference = o.compare;
  std::string written;
  std::optional<Error> unwritten;  // the report then has the results
  try {
    if (!o.output.empty() && !done.tensors.empty()) {
      save_safetensors(o.output, done.tensors, kResultsMetadata);
      written = o.output;
    }
  } catch (const StorageError& error) {
    unwritten = error;
  }
  // The failure of an only case is in the message.
  const bool is_message_enough = done.failures.num_cases == 1 && !done.failures.errors.empty();
  if (!is_message_enough || out.json()) {
    if (reference) {
      out.report(OpReport{done.comparison, done.failures});
    } else {
      out.report(OpResults{done.tensors, written, done.failures});
    }
  }
  if (unwritten) throw Error(*unwritten);
  check_run(done);
  return ExitCode::kOk;
}

ExitCode run(const EvalOpArguments& o, Output& out) {
  o.check_list();
  if (!o.lists) return run_cases(o, out);
  out.report(list_functions(o.list));
  return ExitCode::kOk;
}

}  // namespace

const Verb<EvalOpArguments> eval_op_verb({
    .name = "eval-op",
    .help = "Run tensor functions by name on given tensors, to compare with another framework",
    .add =
        [](CLI::App& app, EvalOpArguments& arguments, Output& out) {
          arguments.add_to(app);
          out.add_json_flag(app);
        },
    .run = run,
});

}  // namespace axle::cli
