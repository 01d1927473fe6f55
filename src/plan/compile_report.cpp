#include "plan/compile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/process_start.h"
#include "base/text/text_table.h"
#include "hlo/collectives.h"
#include "hlo/module.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "lower/stablehlo.h"
#include "nn/layer_role.h"
#include "ops/annotate.h"
#include "pjrt/compiler.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin/plugin_policy.h"
#include "pjrt/plugin/plugin_watch.h"
#include "pjrt/saved_executable.h"
#include "plan/compiler_findings.h"
#include "plan/graph/saved_values.h"
#include "plan/memory_needs.h"
#include "recipes/resolve/use_data.h"
#include "runtime/memory_estimate.h"
#include "targets/device_order.h"
#include "train/config/run_modules.h"
#include "train/program/model_flops.h"
#include "transform/bodies.h"

namespace axle {

std::vector<std::string> virtual_device_findings(const Region& step, const Target& target,
                                                 int64_t host_memory_bytes) {
  std::vector<std::string> out;
  if (target.accelerator.platform != "cpu") return out;
  const int64_t n = target.num_devices();
  if (n > 1 && host_memory_bytes > 0) {
    const auto whole = static_cast<double>(host_memory_bytes);
    out.push_back(fmt::format("the {} virtual devices share the {} of this machine, {} for each", n,
                              bytes_text(whole), bytes_text(whole / static_cast<double>(n))));
  }
  if (const double bytes = saved_values(step, "").bytes(Memory::kHost); bytes > 0) {
    out.push_back(
        fmt::format("the step offloads {} to the host; a CPU device has no other memory than the "
                    "host's, so nothing is moved",
                    bytes_text(bytes)));
  }
  return out;
}

namespace {

void collect(const Region& graph, const Mesh& mesh, std::set<std::string>& lines) {
  for (const OpNode* op : graph.ops()) {
    for (const auto& region : op->regions) collect(*region, mesh, lines);
    const PartitionSpec* spec = constraint_of(*op);
    if (!spec) continue;
    const Shape& shape = op->outputs[0].dims;
    const PartitionSpec wanted = restrict(*spec, mesh), given = restrict(*spec, shape, mesh);
    for (size_t d = 0; d < wanted.dims.size(); ++d) {
      if (wanted.dims[d] == given.dims[d]) continue;
      const int64_t over = num_parts(wanted.dims[d], mesh), into = num_parts(given.dims[d], mesh);
      lines.insert(
          fmt::format("{}: expected dim {} of {} to divide over {} = {} devices, got {}; it is "
                      "divided into {}, so groups of {} devices do the same work{}",
                      op->scope && !op->scope->empty() ? *op->scope : "program", d, to_text(shape),
                      to_text(wanted.dims[d]), over, shape[d], into, over / into,
                      wanted.dims[d].size() == 1 && into > 1
                          ? fmt::format("; a mesh with {}={} divides it", wanted.dims[d][0], into)
                          : ""));
    }
  }
}

}  // namespace

std::vector<std::string> unmet_layouts(const Region& graph, const Mesh& mesh) {
  std::set<std::string> lines;
  collect(graph, mesh, lines);
  return {lines.begin(), lines.end()};
}

namespace {

double ratio(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

}  // namespace

DeviceRates rates_of(const Accelerator& accelerator) {
  return {.flops = accelerator.peak_bf16_flops, .memory_bytes = accelerator.memory_bandwidth};
}

std::optional<StepEstimate> estimate_step(const DeviceWork& work,
                                          const std::vector<CollectiveRow>& rows,
                                          const Target& target, const StepCounts& size) {
  const Accelerator& accelerator = target.accelerator;
  if (accelerator.peak_bf16_flops == 0 || accelerator.memory_bandwidth == 0) return std::nullopt;
  StepEstimate out{.compute_seconds = work.compute_seconds, .memory_seconds = work.memory_seconds};
  for (const CollectiveRow& row : rows) {
    const double fast = ratio(row.wire.fast, accelerator.fast_network),
                 slow = ratio(row.wire.slow, accelerator.slow_network);
    out.fast_network_seconds += fast;
    out.slow_network_seconds += slow;
    if (row.waits) out.waiting_seconds += std::max(fast, slow);
  }
  const double on_chip = work.seconds + out.waiting_seconds,
               network = std::max(out.fast_network_seconds, out.slow_network_seconds);
  out.seconds = std::max(on_chip, network);
  const double alone = std::max(out.waiting_seconds, network > on_chip ? network : 0);
  if (alone > std::max(work.compute_seconds, work.memory_seconds)) {
    out.bound =
        out.slow_network_seconds > out.fast_network_seconds ? "network (slow)" : "network (fast)";
  } else {
    out.bound = work.compute_seconds >= work.memory_seconds ? "compute" : "memory";
  }
  out.tokens_per_second = ratio(size.tokens, out.seconds);
  out.mfu = ratio(size.model_flops, out.seconds * accelerator.peak_bf16_flops *
                                        static_cast<double>(target.num_devices()));
  return out;
}

GraphCost graph_cost(const Region& graph) { return {region_flops(graph), region_bytes(graph)}; }

namespace {

// Returns the memory of one device in bytes; 0: not known. Virtual devices share the host's memory.
int64_t whole_memory(const Target& target) {
  if (target.accelerator.memory_bytes > 0) return target.accelerator.memory_bytes;
  if (target.accelerator.platform != "cpu") return 0;
  return host_memory().total_bytes / target.num_devices();
}

int64_t memory_for_programs(const Target& target) {
  return bytes_for_programs(plugin_policy(target.accelerator.platform), whole_memory(target));
}

// Returns the versions of the compiler. The platform version will not do for every plugin, because
// it may be that of the device (PluginPolicy::compiler_attributes).
std::string compiler_text(const Compiler& compiler) {
  const Plugin& plugin = compiler.plugin();
  if (plugin.policy().compiler_attributes.empty()) return compiler.topology().platform_version;
  std::string out = fmt::format("XLA of plugin '{}' ({}, PJRT {}", plugin.policy().platform,
                                plugin.path().filename().string(), plugin.api_version());
  const auto attributes = plugin.attributes();
  for (const std::string& name : plugin.policy().compiler_attributes) {
    const auto found = attributes.find(name);
    if (found != attributes.end()) out += fmt::format(", {} {}", name, found->second);
  }
  return out + ")";
}

std::vector<TemporaryBuffer> largest_of(std::vector<TemporaryBuffer> all) {
  constexpr size_t kShown = 12;
  if (all.size() > kShown) all.resize(kShown);
  return all;
}

// Fills in the fields of the report that are read from the optimised program.
void read_program(const HloModule& module, const LoweredStep& step, const Topology& topology,
                  CompileReport& out) {
  const Program& program = step.program;
  const std::vector<Collective> all =
      collectives(module, program.mesh, fast_groups(topology, program.mesh));
  out.work = device_work(module, rates_of(step.target.accelerator));
  out.largest = largest_of(peak_memory(module).temporaries);
  out.gathers = argument_gathers(all);
  std::ranges::move(compiler_findings(module, all, out.arguments),
                    std::back_inserter(out.findings));
  out.collectives = rows_of(all);
  out.estimate = estimate_step(*out.work, *out.collectives, step.target, step.size);
  if (auto moves = moves_finding(unasked_moves(all, *program.graph, program.mesh)))
    out.findings.push_back(std::move(*moves));
}

void check_order(const std::optional<HloModule>& module, const std::filesystem::path& save) {
  if (!module) {
    throw DeviceError(fmt::format(
        "{}: expected the optimised program to check the order of its collectives, got none",
        save.string()));
  }
  const auto pair = unordered_collectives(*module);
  if (!pair) return;
  throw DeviceError(fmt::format(
      "{}: expected data dependencies that order all collectives, got none between '{}' and '{}': "
      "a saved program would lose their order; compile on the machine that runs the program, or "
      "unroll the loop over layers (Stacked instead of Repeat)",
      save.string(), pair->first, pair->second));
}

}  // namespace

std::optional<int64_t> CompileReport::headroom_bytes() const {
  if (!too_large_message.empty()) {
    const auto shortage = read_memory_shortage(too_large_message);
    return shortage ? std::optional(shortage->available - shortage->needed) : std::nullopt;
  }
  if (!memory || device_memory_bytes == 0) return std::nullopt;
  return device_memory_bytes - memory->total_bytes();
}

std::optional<bool> CompileReport::fits() const {
  if (!too_large_message.empty()) return false;
  const auto headroom = headroom_bytes();
  return headroom ? std::optional(*headroom >= 0) : std::nullopt;
}

ExitCode exit_code_of(const CompileReport& report) {
  const auto fits = report.fits();
  if (!fits) {
    throw DeviceError(
        fmt::format("target {}: expected the memory that the program needs and a device has, got a "
                    "compiler that does not report it; it is not known whether the program fits",
                    report.target));
  }
  return *fits ? ExitCode::kOk : ExitCode::kDoesNotFit;
}

namespace {

// True if the step can be traced for one device, so that a refusal is about its mesh.
bool is_sound_without_mesh(const RunModules& training) {
  try {
    step_program(training.program_spec({}, training.make_input()->element_spec()));
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace

LoweredStep lower_step(const Trainer::Config& config, std::string recipe, const Target& target) {
  const auto start = Clock::now();
  Trainer::Config without_data = config;
  UseData{kSyntheticData}.apply_to(without_data);
  const RunModules training(without_data);
  try {
    const Mesh mesh = infer_mesh(config.mesh, target.num_devices());
    const ProgramSpec parts = training.program_spec(mesh, training.make_input()->element_spec());
    const CallForms forms;
    LoweredStep out{.recipe = std::move(recipe),
                    .target = target,
                    .program = step_program(parts),
                    .options = config.compiler_options};
    out.forms = forms.notes();
    const ModelFlops flops = model_flops(parts);
    out.size.model_flops = flops.count;
    if (!flops.unknown.empty()) out.warnings.push_back(flops.unknown);
    if (const auto ids = parts.batch.find("input_ids"); ids != parts.batch.end())
      out.size.tokens = static_cast<double>(ids->second.num_elements());
    for (const auto& [path, spec] : training.model->param_specs())
      out.num_parameters += spec.type().num_elements();
    out.seconds = seconds_since(start);
    return out;
  } catch (const ConfigError& error) {
    if (!is_sound_without_mesh(training)) throw;
    throw RefusedMeshError(
        error.what(), state_memory(train_state(*training.model, *training.learner), config.mesh,
                                   target.num_devices(), memory_for_programs(target)));
  }
}

std::string optimized_program(const LoweredStep& step) {
  const auto compiler = make_compiler(step.target);
  const CompileOptions options{.overrides = {step.options.begin(), step.options.end()}};
  const std::string out = compiler->compile(step.program, options)->optimized_program();
  if (!out.empty()) return out;
  throw DeviceError(
      fmt::format("target {}: expected an optimised program, got a plugin that gives none",
                  to_text(step.target)));
}

namespace {

// What the compilation of a step returns.
struct CompiledStep {
  CompileReport report;
  std::unique_ptr<Compiler> compiler;
  CompileOptions options = {};
  std::unique_ptr<CompiledProgram> program = nullptr;  // null: too large for the device
  std::optional<HloModule> module = {};                // none: the plugin gives none, or unreadable
};

// Compiles the step and notes the compiler's own messages.
void compile(const LoweredStep& step, CompiledStep& out) {
  CompileReport& report = out.report;
  report.compiler = compiler_text(*out.compiler);
  const Program lowered = lowered_for(step.program, out.compiler->lowering_target());
  for (const LoweringChoice& choice : lowered.choices)
    report.findings.push_back({.text = to_text(choice)});
  for (std::string& line :
       virtual_device_findings(*step.program.graph, step.target, host_memory().total_bytes))
    report.findings.push_back({.text = std::move(line)});
  const auto start = Clock::now();
  {
    PluginTask task(report.compiler, "compile");
    try {
      out.program = out.compiler->compile(lowered, out.options);
    } catch (const DoesNotFitError& error) {
      report.too_large_message = error.what();
      report.largest = largest_of(read_largest_buffers(error.details));
      if (report.largest.empty()) {
        report.largest = largest_of(estimate_memory(step.program).largest);
        report.largest_are_estimates = true;
      }
    }
    report.compiler_warnings = compiler_warnings(task.take_text());
  }
  report.compile_seconds = seconds_since(start);
}

CompiledStep compiled(const LoweredStep& step, const MakeCompiler& make) {
  const Program& program = step.program;
  if (plugin_watch()) enable_plugin_warnings();  // else nothing takes them from standard error
  CompiledStep out{.report = {.recipe = step.recipe,
                              .target = to_text(step.target),
                              .machine = step.target.machine(),
                              .num_devices = step.target.num_devices(),
                              .mesh = to_text(program.mesh),
                              .size = step.size,
                              .num_parameters = step.num_parameters,
                              .cost = graph_cost(*program.graph),
                              .device_memory_bytes = memory_for_programs(step.target),
                              .whole_memory_bytes = whole_memory(step.target),
                              .warnings = step.warnings,
                              .lower_seconds = step.seconds},
                   .compiler = make(),
                   .options = {.overrides = {step.options.begin(), step.options.end()}}};
  CompileReport& report = out.report;
  for (const ProgramValue& input : program.inputs) report.arguments.push_back(input.name);
  compile(step, out);
  std::ranges::move(unmet_layouts(*program.graph, program.mesh),
                    std::back_inserter(report.warnings));
  if (!out.program) return out;
  report.memory = out.program->memory();
  report.compiler_cost = out.program->cost_analysis();
  try {
    if (const std::string optimized = out.program->optimized_program(); !optimized.empty()) {
      out.module = read_hlo_module(optimized);
      read_program(*out.module, step, out.compiler->topology(), report);
    }
  } catch (const std::exception& error) {  // even for a bug of ours the rest of the report is valid
    report.unreadable_reason = error.what();
  }
  return out;
}

MakeCompiler default_compiler(const LoweredStep& step) {
  return [&] { return make_compiler(step.target); };
}

}  // namespace

CompileReport compile_step(const LoweredStep& step) {
  return compile_step(step, default_compiler(step));
}

CompileReport compile_step(const LoweredStep& step, const MakeCompiler& make) {
  return compiled(step, make).report;
}

CompileReport compile_and_save_step(const LoweredStep& step, const std::filesystem::path& file) {
  check_regular(file);  // a saved executable is read at arbitrary offsets
  check_replaceable(file);
  CompiledStep out = compiled(step, default_compiler(step));
  if (!out.program) return std::move(out.report);
  try {
    if (out.compiler->plugin().policy().reorders_loaded_collectives) check_order(out.module, file);
    save_executable(file, *out.program, step.program, *out.compiler, out.options);
    out.report.saved = file;
  } catch (const Error&) {
    out.report.save_error = std::current_exception();
  }
  return std::move(out.report);
}

}  // namespace axle
