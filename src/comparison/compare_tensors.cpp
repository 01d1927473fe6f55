#include "comparison/compare_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text/text.h"
#include "comparison/eval_layer_files.h"
#include "io/file.h"
#include "ops/movement/movement.h"

namespace axle {
namespace {

// Returns the names that the cotangent of an output may have. Messages show the first one.
std::vector<std::string> names_for(const NamedOutput& output, size_t position) {
  const std::string number = std::to_string(position);
  if (output.name.empty()) return {number, "out"};
  return {output.name, number, "out/" + output.name};
}

Tensor as_output(const std::string& name, const Tensor& cotangent, const Type& type) {
  const bool is_scalar = cotangent.type().num_elements() == 1 && type.num_elements() == 1 &&
                         cotangent.rank() <= 1 && type.rank() <= 1;
  const Tensor out = is_scalar ? reshape(cotangent, type.dims) : cotangent;
  if (out.type() == type) return out;
  throw ConfigError(fmt::format("cotangent/{}: expected {}, got {}", name, to_text(type),
                                to_text(cotangent.type())));
}

}  // namespace

Values cotangents_for(const std::vector<NamedOutput>& outputs, const Tree<Tensor>& given) {
  Values out;
  Tree<Tensor> left = given;
  std::vector<std::string> wanted;
  const Tensor* differentiable = nullptr;  // the last output that has a gradient
  for (size_t i = 0; i < outputs.size(); ++i) {
    out.emplace_back();
    if (!is_differentiable(outputs[i].value.dtype())) continue;
    const std::vector<std::string> names = names_for(outputs[i], i);
    wanted.push_back("cotangent/" + names[0]);
    differentiable = &outputs[i].value;
    for (const std::string& name : names) {
      const auto it = left.find(name);
      if (it == left.end()) continue;
      if (out.back()) {
        throw ConfigError(fmt::format(
            "cotangent/{}: expected one cotangent for this output, got cotangent/{} as well",
            names[0], name));
      }
      out.back() = as_output(name, it->second, outputs[i].value.type());
      left.erase(it);
    }
  }
  if (wanted.empty())
    throw ConfigError("cotangent: expected a floating-point or complex output, got none");
  if (!left.empty()) {
    const std::string& name = left.begin()->first;
    const bool is_number = name.find_first_not_of("0123456789") == name.npos;
    const std::string shown = "cotangent/" + name;
    throw ConfigError(fmt::format(
        "{}: expected a floating-point output of this {}, got none{} (outputs: {})", shown,
        is_number ? "number" : "name", suggest(shown, wanted), join(wanted, ", ")));
  }
  if (given.empty()) {
    throw DataError(
        wanted.size() == 1
            ? fmt::format("{}: expected {}, got none", wanted[0], to_text(differentiable->type()))
            : fmt::format("cotangent: expected at least one of {}, got none", join(wanted, ", ")));
  }
  return out;
}

namespace {

constexpr double kDefaultTolerance = 1e-5;
constexpr double kCancelled = 1e-4;

// True for values that layers record beside their result. Implementations differ in what they
// record.
bool is_beside(std::string_view name) {
  constexpr std::string_view kSections[] = {"summaries/", "aux_losses/", "outputs/",
                                            "module_outputs/"};
  return std::ranges::any_of(kSections, [&](auto section) { return name.starts_with(section); });
}

class Comparer {
 public:
  Comparer(const Tree<HostTensor>& results, const TensorReference& reference,
           const RenameRules& rules)
      : results_(results),
        reference_(reference),
        rules_(rules),
        not_compared_(reference.not_compared) {}

  TensorComparison compare(const Tolerances& tolerances) {
    TensorComparison out{
        .reference = reference_.path, .tensors = {}, .not_compared = {}, .only_in_results = {}};
    std::vector<std::pair<std::string, std::string>> pairs;  // theirs, ours
    for (const auto& [theirs, named] : reference_.names) {
      if (const auto ours = find(theirs, named)) pairs.emplace_back(theirs, *ours);
    }
    Tree<HostTensor> expected;
    double largest_gradient = 0;
    for (const auto& [theirs, ours] : pairs) {
      const HostTensor& value =
          expected.emplace(theirs, read_tensor(reference_.file, theirs)).first->second;
      if (ours.starts_with("grad/"))
        largest_gradient = std::max(largest_gradient, largest_in(value));
    }
    for (const auto& [theirs, ours] : pairs) {
      out.tensors.push_back(
          compare(theirs, ours, expected.at(theirs), largest_gradient, tolerances.of(theirs)));
      compared_.emplace(ours, true);
    }
    if (pairs.empty()) {
      throw ConfigError(fmt::format("{}: expected results to compare with ({}), got none",
                                    reference_.path,
                                    results_.empty() ? "any" : results_.begin()->first + ", ..."));
    }
    for (const auto& [reason, count] : not_compared_)
      out.not_compared.push_back(fmt::format("{} ({})", reason, count));
    for (const auto& [name, value] : results_) {
      if (!compared_.contains(name)) out.only_in_results.push_back(name);
    }
    return out;
  }

 private:
  // Returns our name of the reference's tensor `theirs`; none if it is not compared.
  std::optional<std::string> find(const std::string& theirs, const std::string& named) {
    const auto ours = renamed(theirs, named);
    if (!ours) return std::nullopt;
    if (results_.contains(*ours)) return ours;
    if (*ours == "out" && results_.contains("out/loss")) return "out/loss";
    if (is_beside(*ours)) {
      ++not_compared_["values that the reference's layers record and Axle's do not"];
      return std::nullopt;
    }
    return ours;
  }

  // If no rule matches, a name that is already ours is kept: Axle may have written the reference.
  std::optional<std::string> renamed(const std::string& theirs, const std::string& named) const {
    try {
      return rules_.tensor(theirs);
    } catch (const ConfigError&) {
      if (results_.contains(named)) return named;
      throw;
    }
  }

  ComparedTensor compare(const std::string& theirs, const std::string& ours,
                         const HostTensor& expected, double largest_gradient,
                         double tolerance) const {
    const auto it = results_.find(ours);
    if (it == results_.end()) return missing_tensor(theirs, expected, {.largest = tolerance});
    double scale = largest_in(expected);
    if (ours.starts_with("grad/") && scale < kCancelled * largest_gradient)
      scale = largest_gradient;
    return compare_tensor(theirs, as_scalar_like(it->second, expected.shape()), expected,
                          {.largest = tolerance}, scale);
  }

  const Tree<HostTensor>& results_;
  const TensorReference& reference_;
  const RenameRules& rules_;
  std::map<std::string, int> not_compared_;  // number of tensors by reason
  Tree<bool> compared_;
};

}  // namespace

Tolerances::Tolerances(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::string number = equals == text.npos ? text : text.substr(equals + 1);
    const std::string pattern = equals == text.npos ? "**" : text.substr(0, equals);
    try {
      rows_.push_back({pattern, PathPattern(pattern), limit_from(number)});
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("--tolerance: {}", error.what()));
    }
  }
}

double Tolerances::of(std::string_view name) const {
  double out = kDefaultTolerance;
  for (const Row& row : rows_) {
    if (row.pattern.matches(name)) out = row.tolerance;
  }
  return out;
}

void Tolerances::check_matches(const SafetensorsFile& file, const std::string& path) const {
  const std::vector<std::string> names = file.names();
  for (const Row& row : rows_) {
    if (std::ranges::any_of(names, [&](const auto& name) { return row.pattern.matches(name); }))
      continue;
    throw ConfigError(fmt::format(
        "--tolerance: expected a pattern that matches a tensor of {}, got '{}'", path, row.text));
  }
}

TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const SkipReasonOf& skip_reason_of) {
  TensorReference out{
      .path = path, .file = open_tensor_file(path), .names = {}, .not_compared = {}};
  for (const std::string& theirs : out.file.names()) {
    const auto named = rules.section_name(theirs);
    if (!named) continue;
    if (const std::string reason = skip_reason_of(*named); !reason.empty()) {
      ++out.not_compared[reason];
      continue;
    }
    if (!is_beside(*named)) storage_error_as<DataError>([&] { return out.file.type(theirs); });
    out.names.emplace(theirs, *named);
  }
  if (out.names.empty())
    throw ConfigError(fmt::format("{}: expected results to compare with, got none", path));
  return out;
}

TensorComparison compare_tensors(const Tree<HostTensor>& results, const TensorReference& reference,
                                 const RenameRules& rules, const Tolerances& tolerances) {
  return Comparer(results, reference, rules).compare(tolerances);
}

namespace {

constexpr const char* kInput = "inputs";

// Returns the sections that hold inputs in any file.
std::vector<std::string> only_inputs(const EvalSubject& subject) {
  if (std::holds_alternative<Child<Learner>>(subject)) return {"init", "params", "grad"};
  if (std::holds_alternative<Trainer::Config>(subject)) return {"init", "params", "batches"};
  return {"in", "params", "cotangent"};
}

}  // namespace

TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const EvalSubject& subject, const SubjectOptions& options,
                               const std::string& inputs) {
  std::error_code unknown;
  const bool holds_inputs = !inputs.empty() && std::filesystem::equivalent(inputs, path, unknown);
  const std::vector<std::string> input_sections = only_inputs(subject);
  const auto skip_reason_of = [&](const std::string& name) -> std::string {
    const std::string section = name.substr(0, name.find('/'));
    if (std::ranges::count(input_sections, section)) return kInput;
    if (section == "state" && holds_inputs) return kInput;
    if (section == "grad" && !options.layer.grad) return "gradients: --grad computes them";
    if (section == "init_params" && !options.layer.init_seed)
      return "initial parameters: --seed draws them";
    return {};
  };
  return open_reference(path, rules, skip_reason_of);
}

}  // namespace axle
