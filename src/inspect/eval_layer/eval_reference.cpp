#include "inspect/eval_layer/eval_reference.h"

#include <algorithm>
#include <filesystem>

namespace axle {
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
