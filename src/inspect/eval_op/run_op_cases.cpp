#include "inspect/eval_op/run_op_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text/text.h"
#include "inspect/compare/tensor_comparison.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_op/eval_op.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

bool is_result_name(std::string_view name) {
  for (const std::string_view section : {"out", "grad"}) {
    if (name.starts_with(section) && is_digits(name.substr(section.size()))) return true;
  }
  return false;
}

// The results in the order of their numbers: out2 before out10.
std::map<std::string, const HostTensor*, NaturalOrder> in_order(const Tree<HostTensor>& tensors) {
  std::map<std::string, const HostTensor*, NaturalOrder> out;
  for (const auto& [name, value] : tensors) out.emplace(name, &value);
  return out;
}

}  // namespace

std::string CaseFailures::summary() const {
  if (errors.size() == 1) return errors[0].what();
  return fmt::format("{}: expected {} cases to run, got {} that failed; the first: {}", file,
                     num_cases, errors.size(), errors[0].what());
}

std::string to_text(const CaseFailures& failures) {
  std::string out;
  for (const Error& failure : failures.errors) out += fmt::format("failed: {}\n", failure.what());
  return out;
}

Json to_json(const CaseFailures& failures) {
  Json out = Json::array();
  for (const Error& failure : failures.errors) out.push_back(failure.what());
  return out;
}

void compare_op(const OpCase& op, const Tree<HostTensor>& results, const SafetensorsFile& reference,
                const ElementTolerance& tolerance, TensorComparison& comparison) {
  const ElementTolerance& limits = op.tolerance ? *op.tolerance : tolerance;
  std::map<std::string, std::string, NaturalOrder>
      wanted;  // results by their names in the reference
  for (const auto& [result, unused] : results) {
    if (!op.expected.contains(result)) wanted.emplace(op.file_name(result), result);
  }
  const std::string head = op.file_name("");
  for (const std::string& name : reference.names()) {
    const bool is_below = op.name.empty() || name.starts_with(op.name + "/");
    const std::string rest =
        op.name.empty() ? name : name.substr(std::min(name.size(), head.size() + 1));
    if (is_below && is_result_name(rest) && (op.vjp || !rest.starts_with("grad")) &&
        !op.expected.contains(rest))
      wanted.emplace(name, rest);
  }
  for (const auto& [result, name] : op.expected) {
    if (!reference.contains(name)) {
      throw ConfigError(fmt::format("{}: expected: no such tensor in the reference: {}{}", op.where,
                                    name, suggest(name, reference.names())));
    }
    wanted.insert_or_assign(name, result);
  }
  bool has_any = false;
  for (const auto& [name, result] : wanted) {
    if (!reference.contains(name)) {
      comparison.only_in_results.push_back(name);
      continue;
    }
    has_any = true;
    const HostTensor expected = read_tensor(reference, name);
    const auto it = results.find(result);
    comparison.tensors.push_back(
        it == results.end() ? missing_tensor(name, expected, limits)
                            : compare_tensor(name, as_scalar_like(it->second, expected.shape()),
                                             expected, limits, largest_in(expected)));
  }
  if (!has_any) {
    throw ConfigError(fmt::format("{}: expected {} in the reference, got none", op.where,
                                  wanted.empty() ? op.file_name("out0") : wanted.begin()->first));
  }
}

std::string to_text(const OpReport& report) {
  return to_text(report.comparison) + to_text(report.failures);
}

Json to_json(const OpReport& report) {
  Json out = to_json(report.comparison);
  out["agrees"] = report.agrees();
  out["failures"] = to_json(report.failures);
  return out;
}

std::string to_text(const OpResults& results) {
  constexpr int64_t kMaxPrinted = 16;  // elements of a tensor
  std::string out;
  if (!results.file.empty()) {
    out += results.file + "\n";
  } else {
    for (const auto& [name, value] : in_order(results.tensors))
      out += fmt::format("{} {}\n", name, tensor_text(*value, kMaxPrinted));
  }
  return out + to_text(results.failures);
}

Json to_json(const OpResults& results) {
  Json rows = Json::array();
  for (const auto& [name, value] : in_order(results.tensors)) {
    rows.push_back({{"name", name}, {"dtype", name_of(value->dtype())}, {"shape", value->shape()}});
    if (!results.file.empty()) continue;
    Json& values = rows.back()["values"] = Json::array();
    for (int64_t i = 0; i < value->size(); ++i) values.push_back(element_json(*value, i));
  }
  Json out = Json::object();
  if (!results.file.empty()) out["output"] = results.file;
  out["results"] = std::move(rows);
  out["failures"] = to_json(results.failures);
  return out;
}

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
