#include "inspect/eval_op/run_op_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text/text.h"
#include "inspect/eval_op/eval_op.h"

namespace axle {

void keep_cases(const std::vector<std::string>& names, OpCases& file) {
  if (names.empty()) return;
  std::set<std::string> known;  // two cases may have one name
  for (const OpCase& c : file.cases) known.insert(c.name);
  for (const BrokenCase& c : file.broken) known.insert(c.name);
  for (const std::string& name : names) {
    if (known.contains(name)) continue;
    known.erase("");
    const std::vector<std::string> candidates(known.begin(), known.end());
    throw ConfigError(fmt::format("--only: no such case: {}{}", name, suggest(name, candidates)));
  }
  const auto is_left_out = [&](const auto& c) { return !std::ranges::count(names, c.name); };
  std::erase_if(file.cases, is_left_out);
  std::erase_if(file.broken, is_left_out);
}

void check_is_read(const SafetensorsFile& inputs, const OpCases& file) {
  const auto reads = [&](const OpCase& op) { return reads_file(op, inputs); };
  if (!file.broken.empty() || std::ranges::any_of(file.cases, reads)) return;
  throw ConfigError(fmt::format("--inputs: {}: expected a tensor that a case of {} reads, got none",
                                file.inputs, file.path));
}

OpRun run_op_cases(const OpCases& file, const OpRunOptions& options, Runtime& runtime) {
  OpRun out;
  out.failures.file = file.path;
  out.failures.num_cases = file.cases.size() + file.broken.size();
  for (const BrokenCase& broken : file.broken) out.failures.errors.push_back(broken.error);
  for (const OpCase& op : file.cases) {
    try {
      const Tree<HostTensor> results = eval_op(op, options.inputs, runtime, options.f64);
      for (const auto& [name, value] : results) out.tensors.emplace(op.file_name(name), value);
      if (options.reference)
        compare_op(op, results, *options.reference, options.tolerance, out.comparison);
    } catch (const Error& error) {
      out.failures.errors.push_back(error);
    }
  }
  return out;
}

void check_run(const OpRun& run) {
  const std::string differ = run.comparison.agrees() ? "" : run.comparison.summary();
  if (run.failures.errors.empty()) {
    if (!differ.empty()) throw Error(differ, ExitCode::kValidationFailed);
    return;
  }
  throw Error(run.failures.summary() + (differ.empty() ? "" : "; " + differ),
              run.failures.errors[0].code());
}

}  // namespace axle
