#include "train/run_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/units.h"
#include "config/find_slot.h"
#include "config/set.h"
#include "runtime/memory_estimate.h"
#include "train/training_parts.h"

namespace axle {
namespace {

constexpr const char* kRows = "input.batch_size";
constexpr const char* kMicrobatches = "learner.microbatches";
// What compiled steps may need of what they are estimated at, before one was compiled.
constexpr double kCaution = 1.5;

int64_t sum_of(std::span<const HostNeed> needs) {
  int64_t out = 0;
  for (const HostNeed& need : needs) out += need.bytes;
  return out;
}

bool is_of(const HostNeed& need, const std::string& program) {
  return need.what.ends_with(" of " + program);
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

bool RunMemory::fits(double step_bytes) const {
  std::vector<HostNeed> needs = state_;
  constexpr double kMax = 1e18;
  needs.push_back({"the step", static_cast<int64_t>(std::min(step_bytes, kMax))});
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

// Returns the change that fits, more microbatches rather than fewer rows: they leave the result.
std::string RunMemory::what_fits(double scale) const {
  const auto text = [&](const char* field, int64_t value) -> std::string {
    const auto bytes = step_bytes(field, value);
    if (!bytes || !fits(scale * *bytes)) return {};
    return fmt::format("--set {}={} (then about {}), ", field, value,
                       bytes_text(static_cast<double>(sum_of(state_)) + scale * *bytes));
  };
  const int64_t devices =
      parts_.mesh.size("data") * parts_.mesh.size("expert") * parts_.mesh.size("fsdp");
  for (int64_t n = 2 * parts_.learner->microbatches(rows_, devices); n <= rows_; n *= 2) {
    if (const std::string found = text(kMicrobatches, n); !found.empty()) return found;
  }
  for (int64_t rows = rows_ / 2; rows > 0; rows /= 2) {
    if (const std::string found = text(kRows, rows); !found.empty()) return found;
  }
  return {};
}

void RunMemory::check_with(std::span<const HostNeed> programs, double scale) const {
  std::vector<HostNeed> needs = state_;
  needs.insert(needs.end(), programs.begin(), programs.end());
  if (fits_host_memory(needs, memory_)) return;
  const bool is_the_step = !programs.empty() && is_of(programs[0], "the step");
  check_host_memory(needs, memory_,
                    fmt::format("take {}a smaller model or batch, or a machine with more memory",
                                is_the_step ? what_fits(scale) : ""));
}

void RunMemory::check(std::span<const TracedProgram> programs) const {
  check_with(estimated_needs(programs, platform_), kCaution);
}

void RunMemory::check_compiled(std::span<const TracedProgram> programs,
                               std::span<const NamedProgram> compiled) const {
  std::vector<HostNeed> needs = program_needs(compiled, parts_.mesh.num_devices(), platform_);
  double scale = kCaution;
  for (const TracedProgram& program : programs) {
    if (needs.empty() || !is_of(needs[0], program.name)) continue;
    const auto estimated = estimated_needs(std::span(&program, 1), platform_);
    if (estimated.empty()) continue;
    needs[0].largest = estimated[0].largest;
    scale = static_cast<double>(needs[0].bytes) / static_cast<double>(estimated[0].bytes);
  }
  check_with(needs, scale);
}

}  // namespace axle
