#include "plan/evaluation_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/units.h"
#include "plan/memory_shortage.h"
#include "recipes/resolve/use_data.h"
#include "runtime/memory_estimate.h"
#include "train/batch_parts.h"

namespace axle {
namespace {

Trainer::Config without_data(Trainer::Config config) {
  UseData{kSyntheticData}.apply_to(config);
  for (auto& [name, evaler] : config.evalers) make_synthetic(evaler.input, kSyntheticEvalBatches);
  return config;
}

// Bytes of one device that the program itself needs, besides its arguments; none: not known.
std::optional<int64_t> own_bytes(const CompileReport& compiled, int64_t argument_bytes) {
  if (compiled.memory) return compiled.memory->total_bytes() - compiled.memory->argument_bytes;
  const auto shortage = read_memory_shortage(compiled.too_large_message);
  if (!shortage) return std::nullopt;
  return shortage->of.empty() ? shortage->needed - argument_bytes : shortage->needed;
}

// Fills in what the compiler says of the evaluation.
void read(const CompileReport& compiled, const MemoryEstimate& estimate, const CompileReport& step,
          EvaluationMemory& out) {
  out.fits = compiled.fits();
  if (!step.memory || step.device_memory_bytes == 0) return;
  // The program reads the parameters alone; the rest of the state stays.
  const auto read = static_cast<int64_t>(estimate.argument_bytes);
  const auto own = own_bytes(compiled, read);
  if (!own) return;
  out.bytes = *own + std::max(step.memory->argument_bytes, read);
  out.fits = out.fits != false && *out.bytes <= step.device_memory_bytes;
}

// Returns the rows with which an evaluation fits if its own memory follows them.
std::optional<SetField> change_of(const Trainer::Config& config, const LoweredStep& step,
                                  const std::string& name, double own, double available) {
  const int64_t rows = evaluation_rows(evaluation_parts(config, name, step.program.mesh),
                                       [&](double share) { return share * own <= available; });
  if (rows == 0) return {};
  return SetField{name + ".input.batch_size", std::to_string(rows)};
}

std::string flag_of(const EvaluationMemory& one) {
  return one.change ? fmt::format("--set {}={}", one.change->path, one.change->text) : "";
}

}  // namespace

TracedEvaluations::TracedEvaluations(const Trainer::Config& config, const Mesh& mesh)
    : config_(config) {
  if (config.evalers.empty()) return;
  training_.emplace(without_data(config));
  evaluations_.emplace(*training_, mesh);
}

std::vector<EvaluationMemory> TracedEvaluations::memory(const LoweredStep& step,
                                                        const CompileReport& report,
                                                        const CompileEvaluation& compile) const {
  std::vector<EvaluationMemory> out;
  if (!evaluations_) return out;
  const double most = estimate_memory(step.program).temporary_bytes;
  std::map<std::string_view, CompileReport> compiled;  // evalers may share a program
  for (const auto& [name, program] : evaluations_->traced()) {
    EvaluationMemory& one = out.emplace_back(EvaluationMemory{.name = name});
    const MemoryEstimate estimate = estimate_memory(*program);
    if (estimate.temporary_bytes <= most) {
      one.fits = report.fits();
      continue;
    }
    auto known = compiled.find(program->text);
    if (known == compiled.end()) {
      LoweredStep evaluation{.recipe = step.recipe, .target = step.target, .program = *program};
      evaluation.options = step.options;
      known = compiled.emplace(program->text, compile(evaluation, name)).first;
    }
    read(known->second, estimate, report, one);
    if (one.fits != false || !one.bytes) continue;
    const auto state = static_cast<double>(report.memory->argument_bytes);
    one.change = change_of(config_, step, name, static_cast<double>(*one.bytes) - state,
                           static_cast<double>(report.device_memory_bytes) - state);
  }
  return out;
}

std::string to_text(const std::vector<EvaluationMemory>& evaluations, int64_t device_memory_bytes) {
  std::string out;
  for (const EvaluationMemory& one : evaluations) {
    if (!one.bytes && one.fits != false) continue;
    out += fmt::format("{}: {}", one.name, one.fits == false ? "does not fit" : "fits");
    if (one.bytes)
      out += fmt::format(": {} of {} per device, with the training state", bytes_text(*one.bytes),
                         bytes_text(device_memory_bytes));
    if (one.change) out += fmt::format("; {} fits by proportion", flag_of(one));
    out += '\n';
  }
  return out;
}

nlohmann::ordered_json to_json(const std::vector<EvaluationMemory>& evaluations) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const EvaluationMemory& one : evaluations) {
    out.push_back({{"name", one.name},
                   {"fits", one.fits ? Json(*one.fits) : Json(nullptr)},
                   {"bytes", one.bytes ? Json(*one.bytes) : Json(nullptr)},
                   {"change", flag_of(one)}});
  }
  return out;
}

}  // namespace axle
