// axle eval-op CASE.yaml: runs public tensor functions on given tensors, to compare them with
// another framework.
#include "inspect/eval_op/eval_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/arguments/eval_op_arguments.h"
#include "cli/arguments/output_file.h"
#include "cli/verb.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_op/function_list.h"

namespace axle::cli {
namespace {

// Returns the cases that --only names.
std::vector<OpCase> chosen(std::vector<OpCase> cases, const std::vector<std::string>& only) {
  if (only.empty()) return cases;
  for (const std::string& name : only) {
    if (!std::ranges::count(cases, name, &OpCase::name))
      throw ConfigError(fmt::format("--only: no such case: {}", name));
  }
  std::erase_if(cases, [&](const OpCase& c) { return !std::ranges::count(only, c.name); });
  return cases;
}

// With several cases, a case that fails does not keep the others from running.
ExitCode run_cases(const EvalOpArguments& o, Output& out) {
  o.check();
  const ElementTolerance tolerance = o.element_tolerance();
  OpCases file = read_op_cases(o.cases);
  if (!o.inputs.empty()) file.inputs = o.inputs;
  check_output_file("--output", o.output, {o.cases, file.inputs, o.compare});
  const std::vector<OpCase> cases = chosen(std::move(file.cases), o.only);
  std::optional<SafetensorsFile> inputs, reference;
  if (!file.inputs.empty()) inputs = open_tensor_file(file.inputs);
  if (!o.compare.empty()) reference = open_tensor_file(o.compare);
  o.runtime.ensure_plugin();
  RuntimeOptions options = o.runtime.runtime_options();
  for (const OpCase& op : cases) {
    if (op.shard_map)
      options.num_devices = std::max(options.num_devices, op.shard_map->mesh.num_devices());
  }
  const auto runtime = make_runtime(options);

  Tree<HostTensor> all;
  OpReport report{.comparison = {.reference = o.compare}};
  for (const OpCase& op : cases) {
    try {
      const Tree<HostTensor> results = eval_op(op, inputs ? &*inputs : nullptr, *runtime, o.f64);
      if (reference) compare_op(op, results, *reference, tolerance, report);
      for (const auto& [name, value] : results) {
        if (!all.emplace(op.file_name(name), value).second)
          throw ConfigError(fmt::format("{}: expected another name than '{}'", op.where, op.name));
      }
    } catch (const Error& error) {
      if (cases.size() == 1) throw;
      report.failures.push_back(error);
    }
  }
  if (!o.output.empty()) save_safetensors(o.output, all);
  if (reference) {
    out.report(report);
  } else if (o.output.empty() && !out.json()) {
    for (const auto& [name, value] : all) out.write(name + " " + value.text(16) + "\n");
  } else if (!out.json()) {
    out.write(o.output + "\n");
  }
  if (!report.failures.empty()) throw Error(report.failures[0]);
  if (report.comparison.agrees()) return ExitCode::kOk;
  throw Error(report.comparison.summary(), ExitCode::kValidationFailed);
}

ExitCode run(const EvalOpArguments& o, Output& out) {
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
