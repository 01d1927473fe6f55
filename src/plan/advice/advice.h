// What to change of a config whose step does not fit: tries changes by an estimate, then by
// compiling them.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/advice/mends.h"
#include "plan/advice/search.h"
#include "plan/memory_needs.h"

namespace axle {

struct Advice {
  /// Changes that advise() compiles at most.
  static constexpr size_t kMostCompiled = 4;

  /// The smallest change that was found to fit, compiled; none: none of those that were compiled.
  std::optional<Change> change = {};
  /// The evaluations of the changed config.
  std::vector<EvaluationMemory> evaluations = {};
  /// Changes that were compiled and do not fit.
  std::vector<Change> too_large = {};
  /// What needs the least of all that was tried, compiled or by an estimate, if nothing fits.
  std::optional<Change> least = {};
  /// Kinds of changes that were tried, and those that were left when enough was compiled.
  std::vector<std::string> tried = {}, untried = {};
  int64_t device_memory_bytes = 0;
  /// Of the training state on each device if all devices share all of it.
  double state_bytes = 0;
};

/// Tries change_families() in order: compiles the smallest change of each that may fit by the
/// estimate, and once more with what the compiler said if it does not fit. `report` is that of the
/// step of `resolved`, which does not fit. `request` is what `resolved` came from. Evaluations that
/// do not fit beside the changed step get fewer rows, in the same change.
Advice advise(const ResolveRequest& request, const Resolved& resolved, const Target& target,
              const CompileReport& report, const CompileStep& compile,
              const CompileEvaluation& compile_evaluation);

/// A report with advice; none: the step fits, or that is not known.
struct AdvisedReport {
  CompileReport report;
  std::optional<Advice> advice = {};
  Mends mends = {};
  /// Of each evaler; empty if the step does not fit.
  std::vector<EvaluationMemory> evaluations = {};
};
struct AdviceOptions {
  /// True: compiles changes that make the step fit, or mend what the report finds fault with.
  bool tries_changes = true;
  /// Says what is compiled next.
  std::function<void(const std::string& line)> say;
};
/// Compiles the evaluations of the config if its step, which was compiled to `report`, fits; then
/// changes of the step. Throws as lower_step() and compile_step() do.
AdvisedReport advised_report(CompileReport report, const LoweredStep& step,
                             const TracedEvaluations& evaluations, const ResolveRequest& request,
                             const Resolved& resolved, const AdviceOptions& options);

std::string to_text(const AdvisedReport& advised);
/// The fields of the report, "advice", "mends" and "evaluations". "fits" is false also if an
/// evaluation does not fit.
nlohmann::ordered_json to_json(const AdvisedReport& advised);
/// Like that of the report alone (compile_report.h), but kDoesNotFit also if an evaluation does not
/// fit.
ExitCode exit_code_of(const AdvisedReport& advised);

/// Returns "what to change: --set learner.microbatches=8: 61.2 GiB of 72.8 GiB per device ..."
std::string to_text(const Advice& advice);
nlohmann::ordered_json to_json(const Advice& advice);

}  // namespace axle
