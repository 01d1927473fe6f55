#include "train/run_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text_table.h"
#include "config/set.h"
#include "config/walk.h"
#include "runtime/memory_estimate.h"
#include "train/config/run_modules.h"

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

RunMemory::RunMemory(const Trainer::Config& config, const ProgramSpec& spec, std::string platform,
                     HostMemory memory)
    : config_(config),
      spec_(spec),
      platform_(std::move(platform)),
      memory_(memory),
      state_(state_needs(train_state(spec.model, *spec.learner), spec.mesh, platform_)),
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
    Tree<Type> batch = spec_.batch;
    if (field == kRows) {
      for (auto& [name, type] : batch) {
        if (!type.dims.empty() && type.dims[0] == rows_) type.dims[0] = value;
      }
    }
    const RunModules modules(changed);
    const Program step = step_program(modules.program_spec(spec_.mesh, batch));
    return estimate_memory(step).temporary_bytes * static_cast<double>(spec_.mesh.num_devices());
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

// Returns the change of a step that fits: microbatches rather than fewer rows, since they leave the
// result.
std::optional<RunMemory::Setting> RunMemory::step_change(double scale) const {
  const auto setting = [&](const std::string& field, int64_t value) -> std::optional<Setting> {
    const auto bytes = step_bytes(field, value);
    if (!bytes) return std::nullopt;
    return Setting{.field = field, .value = value, .bytes = scale * *bytes};
  };
  const Microbatches batch = train_microbatches(config_, spec_.mesh);
  const auto in_microbatches = [&](int64_t n) {
    const auto [field, value] = microbatch_field(config_, batch, n);
    return setting(field, value);
  };
  std::vector<int64_t> counts = finer_microbatches(batch);
  while (!counts.empty() && !in_microbatches(counts.back()))
    counts.pop_back();  // refused: too few rows
  const auto first = std::ranges::partition_point(counts, [&](int64_t n) {
    const auto one = in_microbatches(n);
    return !one || !fits(one->bytes);
  });
  if (first != counts.end()) return in_microbatches(*first);
  for (int halvings = 1; fewer_rows(batch, halvings) > 0; ++halvings) {
    auto one = setting(kRows, fewer_rows(batch, halvings));
    if (one && fits(one->bytes)) return one;
  }
  return std::nullopt;
}

std::optional<RunMemory::Setting> RunMemory::evaluation_change(
    const Need& need, const Microbatches& evaluation) const {
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
      const Microbatches before = evaluation_microbatches(config_, need.program, spec_.mesh),
                         after = evaluation_microbatches(changed, need.program, spec_.mesh);
      const double share = static_cast<double>(before.count) / static_cast<double>(after.count);
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
  const int64_t devices = spec_.mesh.num_devices();
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

void check_device_memory(std::span<const NamedProgram> programs, const Topology& topology) {
  if (topology.devices.empty() || !topology.devices[0].memory_bytes) return;
  const int64_t available_bytes = *topology.devices[0].memory_bytes;
  const auto step = programs.empty() ? std::nullopt : programs.front().program->memory();
  const int64_t state_bytes = step ? step->argument_bytes : 0;
  for (const auto& [name, program] : programs) {
    const auto memory = program->memory();
    if (!memory) continue;
    const int64_t needed = memory->total_bytes() - memory->argument_bytes +
                           std::max(state_bytes, memory->argument_bytes);
    if (needed <= available_bytes) continue;
    throw DeviceError(
        fmt::format(
            "{}: expected a program within the {} that programs may use on a device, got one "
            "that needs {}; use more devices, a smaller batch or another remat policy",
            name, bytes_text(available_bytes), bytes_text(needed)),
        ExitCode::kDoesNotFit);
  }
}

std::string device_memory_text(const NamedProgram& step, const Topology& topology) {
  const auto memory = step.program->memory();
  if (!memory || topology.devices.empty() || !topology.devices[0].memory_bytes) return {};
  return fmt::format("{} needs {} of the {} that programs may use on a device", step.name,
                     bytes_text(memory->total_bytes()),
                     bytes_text(*topology.devices[0].memory_bytes));
}

}  // namespace axle
