#include "plan/evaluation_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/units.h"
#include "config/find_slot.h"
#include "recipes/resolve/use_data.h"
#include "runtime/memory_estimate.h"
#include "train/batch_parts.h"
#include "train/evaluation/evaluations.h"
#include "train/training_parts.h"

namespace axle {
namespace {

constexpr const char* kRows = "input.batch_size";

Trainer::Config without_data(Trainer::Config config) {
  UseData{kSyntheticData}.apply_to(config);
  for (auto& [name, evaler] : config.evalers) make_synthetic(evaler.input, kSyntheticEvalBatches);
  return config;
}

// Returns the flag with which an evaluation fits if its own memory follows its rows.
std::string change_of(const Trainer::Config& config, const LoweredStep& step,
                      const std::string& name, double own_bytes, double free_bytes) {
  const std::string field = fmt::format("{}.{}", name, kRows);
  BatchParts batch = batch_parts(config, step.program.mesh);
  if (const int64_t own = whole_number(config, field)) batch.rows = own;
  // Rows beyond those that a device computes at once cost no memory.
  const int64_t at_once = whole_number(config, "learner.device_rows");
  if (at_once > 0) batch.rows = std::min(batch.rows, at_once * batch.shares);
  for (int halvings = 1; fewer_rows(batch, halvings) > 0; ++halvings) {
    const int64_t rows = fewer_rows(batch, halvings);
    if (own_bytes * static_cast<double>(rows) / static_cast<double>(batch.rows) <= free_bytes)
      return fmt::format("--set {}={}", field, rows);
  }
  return {};
}

// Fills in what the compiler says of the evaluation.
void read(const CompileReport& compiled, const CompileReport& step, EvaluationMemory& out) {
  out.fits = compiled.fits();
  if (const auto headroom = compiled.headroom_bytes())
    out.bytes = compiled.device_memory_bytes - *headroom;
  if (!compiled.memory || !step.memory) return;
  // The program reads the parameters alone; the rest of the state stays.
  const int64_t state = step.memory->argument_bytes, read = compiled.memory->argument_bytes;
  out.bytes = *out.bytes - read + std::max(state, read);
  out.fits = *out.bytes <= compiled.device_memory_bytes;
}

}  // namespace

std::vector<EvaluationMemory> evaluation_memory(const Trainer::Config& config,
                                                const LoweredStep& step,
                                                const CompileReport& report,
                                                const CompileEvaluation& compile) {
  std::vector<EvaluationMemory> out;
  if (config.evalers.empty()) return out;
  const TrainingParts training(without_data(config));
  const Evaluations evaluations(training, step.program.mesh);
  const double most = estimate_memory(step.program).temporary_bytes;
  std::map<std::string_view, CompileReport> compiled;  // evalers may share a program
  for (const auto& [name, program] : evaluations.traced()) {
    EvaluationMemory& one = out.emplace_back(EvaluationMemory{.name = name});
    if (estimate_memory(*program).temporary_bytes <= most) {
      one.fits = report.fits();
      continue;
    }
    auto known = compiled.find(program->text);
    if (known == compiled.end()) {
      LoweredStep evaluation{.recipe = step.recipe, .target = step.target, .program = *program};
      evaluation.options = step.options;
      known = compiled.emplace(program->text, compile(evaluation, name)).first;
    }
    read(known->second, report, one);
    if (one.fits != false || !one.bytes || !report.memory) continue;
    const auto state = static_cast<double>(report.memory->argument_bytes);
    one.change = change_of(config, step, name, static_cast<double>(*one.bytes) - state,
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
    if (!one.change.empty()) out += fmt::format("; {} fits by proportion", one.change);
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
                   {"change", one.change}});
  }
  return out;
}

}  // namespace axle
