// What to change of a config whose step does not fit: tries changes by an estimate, then compiles
// the best two.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/compile_report.h"

namespace axle {

/// A change of a command line, and the memory that a device then needs.
struct Change {
  /// What to add or to replace: "--set learner.microbatches=8".
  std::vector<std::string> flags;
  double estimated_bytes = 0;
  /// Of the compiled step; none: it was not compiled, or the compiler refused it.
  std::optional<int64_t> compiled_bytes = {};
  /// True if the compiled step fits.
  bool fits = false;
};

struct Advice {
  /// The smallest change that fits, compiled; none: none of those that were compiled fits.
  std::optional<Change> change = {};
  /// Changes that were compiled and do not fit.
  std::vector<Change> too_large = {};
  /// The change of the least estimated memory, if nothing fits.
  std::optional<Change> least = {};
  int64_t device_memory_bytes = 0;
};

/// Compiles the step of a change.
using CompileStep = std::function<CompileReport(const LoweredStep&, const Change&)>;

/// Tries, from the smallest change on: microbatches, a remat policy that keeps less or keeps it in
/// the host's memory, parameters sharded over all devices, these together, a smaller batch, more
/// devices. `report` is that of the step of `resolved`, which does not fit. Estimates all, and
/// compiles at most two that may fit. `request` is what `resolved` came from.
Advice advise(const ResolveRequest& request, const Resolved& resolved, const Target& target,
              const CompileReport& report, const CompileStep& compile);

/// Returns, for each kind of thing that the report of a step that fits finds fault with, the change
/// that is the first to try: "for 6,416 all-gathers that are all-reduces: --mesh data=2,fsdp=4,
/// ...". Not compiled; those that are refused or may not fit, by an estimate, are left out.
std::vector<std::string> mends_of(const CompileReport& report, const Resolved& resolved,
                                  const Target& target);

/// A report with advice; none: the step fits, or that is not known.
struct AdvisedReport {
  CompileReport report;
  std::optional<Advice> advice = {};
  std::vector<std::string> mends = {};
};
std::string to_text(const AdvisedReport& advised);
/// The fields of the report, "advice" and "mends".
nlohmann::ordered_json to_json(const AdvisedReport& advised);

/// Returns the flags of the change: "--set learner.microbatches=8".
std::string flags_text(const Change& change);
/// Returns "what to change: --set learner.microbatches=8, which needs 61.2 GiB of 72.8 GiB ..."
std::string to_text(const Advice& advice);
nlohmann::ordered_json to_json(const Advice& advice);

}  // namespace axle
