#include "inspect/compile_report.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "inspect/collective_order.h"
#include "inspect/doctor.h"
#include "inspect/hlo_module.h"
#include "inspect/memory_shortage.h"
#include "inspect/resharding.h"
#include "inspect/unmet_layouts.h"
#include "io/file.h"
#include "recipes/use_data.h"
#include "runtime/compiler.h"
#include "runtime/saved_executable.h"
#include "train/training_parts.h"

namespace axle {
namespace {

// Virtual devices share the memory of their host.
int64_t device_memory(const Target& target) {
  if (target.accelerator.memory_bytes > 0) return target.accelerator.memory_bytes;
  if (target.accelerator.platform != "cpu") return 0;
  return machine_facts().memory_bytes / target.num_devices();
}

void check_order(const std::optional<HloModule>& module, const std::filesystem::path& save) {
  if (!module) {
    throw DeviceError(fmt::format(
        "{}: expected the optimised program, to see the order of its collectives, got none",
        save.string()));
  }
  const auto pair = unordered_collectives(*module);
  if (!pair) return;
  throw DeviceError(fmt::format(
      "{}: expected collectives that data put into one order on all devices, got '{}' and '{}', "
      "whose order the plugin would not keep; compile where the program runs, or unroll the loop "
      "of layers (Stacked in place of Repeat)",
      save.string(), pair->first, pair->second));
}

}  // namespace

std::optional<int64_t> CompileReport::headroom_bytes() const {
  if (!too_large.empty()) {
    const auto shortage = read_memory_shortage(too_large);
    return shortage ? std::optional(shortage->available - shortage->needed) : std::nullopt;
  }
  if (!memory || device_memory_bytes == 0) return std::nullopt;
  return device_memory_bytes - memory->total_bytes();
}

std::optional<bool> CompileReport::fits() const {
  if (!too_large.empty()) return false;
  const auto headroom = headroom_bytes();
  return headroom ? std::optional(*headroom >= 0) : std::nullopt;
}

LoweredStep lower_step(const Trainer::Config& config, std::string recipe, const Target& target) {
  const auto start = Clock::now();
  Trainer::Config without_data = config;
  use_data(without_data, kSyntheticData);
  const TrainingParts parts(without_data);
  const Mesh mesh = infer_mesh(config.mesh, target.num_devices());
  LoweredStep out{.recipe = std::move(recipe),
                  .target = target,
                  .program = step_program(parts.programs(mesh, parts.make_input()->element_spec())),
                  .options = config.compiler_options};
  out.seconds = seconds_since(start);
  return out;
}

CompileReport compile_report(const LoweredStep& step, const std::filesystem::path& save) {
  const Program& program = step.program;
  CompileReport out{.recipe = step.recipe,
                    .target = to_text(step.target),
                    .machine = step.target.machine(),
                    .num_devices = step.target.num_devices(),
                    .mesh = to_text(program.mesh),
                    .cost = graph_cost(*program.graph),
                    .device_memory_bytes = device_memory(step.target),
                    .lower_seconds = step.seconds};
  for (const ProgramValue& input : program.inputs) out.arguments.push_back(input.name);

  if (!save.empty()) check_replaceable(save);
  const auto compiler = make_compiler(step.target);
  out.platform_version = compiler->topology().platform_version;
  const CompileOptions options{.overrides = {step.options.begin(), step.options.end()}};
  const auto start = Clock::now();
  std::unique_ptr<CompiledProgram> compiled;
  try {
    compiled = compiler->compile(program, options);
  } catch (const DeviceError& error) {
    if (error.code() != ExitCode::kDoesNotFit) throw;
    out.too_large = error.what();
  }
  out.compile_seconds = seconds_since(start);
  out.warnings = unmet_layouts(*program.graph, program.mesh);
  if (!compiled) return out;
  out.memory = compiled->memory();
  out.compiler_cost = compiled->cost_analysis();
  std::optional<HloModule> module;
  if (const std::string optimized = compiled->optimized_program(); !optimized.empty()) {
    module = read_hlo_module(optimized);
    const std::vector<Collective> all = collectives(*module, program.mesh);
    out.collectives = rows_of(all);
    std::ranges::move(resharding_warnings(all, *program.graph, program.mesh),
                      std::back_inserter(out.warnings));
  }
  if (!save.empty()) {
    try {
      if (compiler->plugin().policy().saving_loses_order) check_order(module, save);
      save_executable(save, *compiled, program, *compiler, options);
      out.saved = save;
    } catch (const Error&) {
      out.not_saved = std::current_exception();
    }
  }
  return out;
}

}  // namespace axle
