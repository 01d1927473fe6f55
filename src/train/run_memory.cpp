#include "train/run_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text_table.h"
#include "config/find_slot.h"
#include "config/set.h"
#include "runtime/memory_estimate.h"
#include "train/training_parts.h"

namespace axle {
namespace {

constexpr const char* kRows = "input.batch_size";
constexpr const char* kStep = "the step";
// What compiled steps may need of what they are estimated at, before one was compiled.
constexpr double kCaution = 1.5;

double sum_of(std::span<const HostNeed> needs) {
  double out = 0;
  for (const HostNeed& need : needs) out += static_cast<double>(need.bytes);
  return out;
}

}  // namespace

RunMemory::RunMemory(const Trainer::Config& config, const ProgramParts& parts, std::string platform,
                     HostMemory memory)
    : config_(config),
      parts_(parts),
      platform_(std::move(platform)),
      memory_(memory),
      state_(state_needs(train_state(parts.model, *parts.learner), parts.mesh, platform_)),
      rows_(whole_number(config, kRows)) {}

bool RunMemory::fits(double program_bytes) const {
  std::vector<HostNeed> needs = state_;
  constexpr double kMax = 1e18;
  needs.push_back({"the program", static_cast<int64_t>(std::min(program_bytes, kMax))});
  return fits_host_memory(needs, memory_);
}

// The estimated temporaries of the step on all devices if this field has this value; none if such a
// config is refused.
std::optional<double> RunMemory::step_bytes(const std::string& field, int64_t value) const {
  try {
    Trainer::Config changed = config_;
    set(changed, field, std::to_string(value));
    Tree<Type> batch = parts_.batch;
    if (field == kRows) {
      for (auto& [name, type] : batch) {
        if (!type.dims.empty() && type.dims[0] == rows_) type.dims[0] = value;
      }
    }
    const TrainingParts training(changed);
    const Program step = step_program(training.program_parts(parts_.mesh, batch));
    return estimate_memory(step).temporary_bytes * static_cast<double>(parts_.mesh.num_devices());
  } catch (const Error&) {
    return std::nullopt;
  }
}

int64_t RunMemory::rows_that_fit(int64_t rows) const {
  while (rows > 0) {
    const auto bytes = step_bytes(kRows, rows);
    if (bytes && fits(kCaution * *bytes)) return rows;
    rows /= 2;
  }
  return 0;
}

// Returns the change of a step that fits: parts of the batch rather than fewer rows, since they
// leave the result.
std::optional<RunMemory::Setting> RunMemory::step_change(double scale) const {
  const auto setting = [&](const std::string& field, int64_t value) -> std::optional<Setting> {
    const auto bytes = step_bytes(field, value);
    if (!bytes) return std::nullopt;
    return Setting{.field = field, .value = value, .bytes = scale * *bytes};
  };
  const BatchParts batch = batch_parts(config_, parts_.mesh);
  const auto in_parts = [&](int64_t n) {
    const auto [field, value] = field_of_parts(config_, batch, n);
    return setting(field, value);
  };
  std::vector<int64_t> counts = finer_parts(batch);
  while (!counts.empty() && !in_parts(counts.back())) counts.pop_back();  // refused: too few rows
  const auto first = std::ranges::partition_point(counts, [&](int64_t n) {
    const auto one = in_parts(n);
    return !one || !fits(one->bytes);
  });
  if (first != counts.end()) return in_parts(*first);
  for (int halvings = 1; fewer_rows(batch, halvings) > 0; ++halvings) {
    auto one = setting(kRows, fewer_rows(batch, halvings));
    if (one && fits(one->bytes)) return one;
  }
  return std::nullopt;
}

std::optional<RunMemory::Setting> RunMemory::evaluation_change(const Need& need,
                                                               const BatchParts& evaluation) const {
  const double bytes = need.scale * need.bytes;
  double share = 1;
  const int64_t rows =
      evaluation_rows(evaluation, [&](double s) { return fits(bytes * (share = s)); });
  if (rows == 0) return std::nullopt;
  return Setting{
      .field = fmt::format("{}.{}", need.program, kRows), .value = rows, .bytes = share * bytes};
}

void RunMemory::check_with(std::span<const HostNeed> most, std::span<const Need> needs) const {
  std::vector<HostNeed> all = state_;
  all.insert(all.end(), most.begin(), most.end());
  if (fits_host_memory(all, memory_)) return;
  if (!fits(0)) check_host_memory(all, memory_, kStateTooLarge);
  std::string changes;
  Trainer::Config changed = config_;
  for (const Need& need : needs) {  // the step comes first
    if (fits(need.bytes)) continue;
    std::optional<Setting> change;
    if (need.program == kStep) {
      change = step_change(need.scale);
    } else {
      // What changes the step may divide an evaluation, too.
      const BatchParts before = evaluation_parts(config_, need.program, parts_.mesh),
                       after = evaluation_parts(changed, need.program, parts_.mesh);
      const double share = static_cast<double>(before.parts) / static_cast<double>(after.parts);
      if (share < 1 && fits(share * need.scale * need.bytes)) continue;
      change = evaluation_change(need, before);
    }
    if (!change) {
      changes.clear();  // the others alone would not do
      break;
    }
    set(changed, change->field, std::to_string(change->value));
    changes += fmt::format("--set {}={} (then about {}), ", change->field, change->value,
                           bytes_text(sum_of(state_) + change->bytes));
  }
  check_host_memory(
      all, memory_,
      fmt::format("take {}a smaller model or batch, or a machine with more memory", changes));
}

void RunMemory::check(std::span<const TracedProgram> programs) const {
  std::vector<Need> needs;
  for (const TracedProgram& program : programs) {
    const double bytes = sum_of(estimated_needs(std::span(&program, 1), platform_));
    // An evaluation is scaled when its rows are halved; the step is estimated again.
    needs.push_back({.program = program.name, .bytes = bytes, .scale = kCaution});
  }
  check_with(estimated_needs(programs, platform_), needs);
}

void RunMemory::check_compiled(std::span<const TracedProgram> programs,
                               std::span<const NamedProgram> compiled) const {
  const int64_t devices = parts_.mesh.num_devices();
  std::vector<HostNeed> most = program_needs(compiled, devices, platform_);
  std::vector<Need> needs;
  for (const NamedProgram& one : compiled) {
    needs.push_back({.program = one.name,
                     .bytes = sum_of(program_needs(std::span(&one, 1), devices, platform_))});
    for (const TracedProgram& program : programs) {
      if (program.name != one.name) continue;
      const auto estimated = estimated_needs(std::span(&program, 1), platform_);
      if (estimated.empty()) continue;
      if (one.name == kStep) needs.back().scale = needs.back().bytes / sum_of(estimated);
      if (!most.empty() && most[0].what.ends_with(" of " + one.name))
        most[0].largest = estimated[0].largest;
    }
  }
  check_with(most, needs);
}

}  // namespace axle
