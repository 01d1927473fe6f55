#include "inspect/doctor.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/version.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/plugin_status.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/resolve.h"
#include "targets/machine_peak.h"
#include "targets/target.h"

namespace axle {
namespace {

// The instruction sets that decide which loops the compiler and the peak measurement use.
constexpr std::array kInstructionSets = {"sse4_2",      "avx",      "avx2",        "fma",
                                         "f16c",        "avx512f",  "avx512_bf16", "avx512_fp16",
                                         "avx512_vnni", "amx_tile", "amx_bf16",    "amx_int8",
                                         "asimd",       "sve",      "bf16"};

// Returns the value of the first line "name : value".
std::string value_of_line(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != line.npos && trim(std::string_view(line).substr(0, colon)) == name) {
      return std::string(trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return {};
}

std::vector<std::string> instruction_sets() {
  std::string flags = value_of_line("/proc/cpuinfo", "flags");
  if (flags.empty()) flags = value_of_line("/proc/cpuinfo", "Features");
  const auto all = split(flags, ' ');
  std::vector<std::string> out;
  for (const char* name : kInstructionSets) {
    if (std::ranges::count(all, std::string_view(name))) out.emplace_back(name);
  }
  return out;
}

int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

MachineFacts machine_facts() {
  MachineFacts out;
  out.processor = value_of_line("/proc/cpuinfo", "model name");
  out.num_cores = usable_cores();
  out.instruction_sets = instruction_sets();
  const HostMemory memory = host_memory();
  out.memory_bytes = memory.total_bytes;
  out.available_memory_bytes = memory.available_bytes;
  std::error_code error;
  const auto space = std::filesystem::space(".", error);
  if (!error) out.free_disk_bytes = static_cast<int64_t>(space.available);
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLowDiskBytes = int64_t{2} << 30;
constexpr int64_t kLowMemoryBytes = int64_t{2} << 30;

void count_devices(BackendFacts& out) {
  try {
    const auto runtime = make_runtime({.backend = out.plugin.platform});
    out.devices = runtime->topology().devices;
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const Peak peak = machine_peak(runtime->topology(), dtype);
      if (peak.flops > 0) out.peaks.push_back({to_text(dtype), peak.flops, peak.source});
    }
  } catch (const Error& error) {
    out.plugin.problem = error.what();
  }
}

void list_targets(BackendFacts& out, const PluginPolicy& policy) {
  if (policy.needs_cuda_toolkit) {
    const auto folder = std::filesystem::path(out.plugin.path).parent_path();
    if (const auto toolkit = find_cuda_toolkit(folder)) {
      out.cuda_toolkit = toolkit->string();
    } else {
      out.missing = "ptxas and libdevice, which its compiler calls; " + policy.install_hint;
      return;
    }
  }
  for (const Accelerator& accelerator : accelerators()) {
    if (accelerator.platform == policy.platform) out.compiles_for.push_back(accelerator.name);
  }
}

bool is_there(const BackendFacts& backend) { return !backend.plugin.path.empty(); }
bool works(const BackendFacts& backend) {
  return is_there(backend) && backend.plugin.problem.empty();
}

std::vector<std::string> problems_of(const DoctorReport& report) {
  std::vector<std::string> out;
  const auto runs = [](const BackendFacts& b) { return works(b) && !b.devices.empty(); };
  const bool any = std::ranges::any_of(report.backends, runs);
  for (const BackendFacts& backend : report.backends) {
    // One backend with devices is enough: others may be absent, but not broken.
    const bool matters = is_there(backend) || (!any && backend.plugin.platform == "cpu");
    if (matters && !backend.plugin.problem.empty())
      out.push_back(fmt::format("{} plugin: {}", backend.plugin.platform, backend.plugin.problem));
  }
  const int64_t disk = report.machine.free_disk_bytes,
                memory = report.machine.available_memory_bytes;
  if (disk > 0 && disk < kLowDiskBytes) {
    out.push_back(fmt::format(
        "disk: expected free space for checkpoints, got {} in this folder; choose another --dir",
        bytes_text(disk)));
  }
  if (memory > 0 && memory < kLowMemoryBytes) {
    out.push_back(fmt::format("memory: expected 2 GiB for the quickstart, got {} available",
                              bytes_text(memory)));
  }
  return out;
}

/// Returns one line that says what the backend can do on this machine.
std::string abilities_text(const BackendFacts& backend) {
  std::vector<std::string> out;
  if (!backend.devices.empty()) out.push_back("trains and generates on the devices below");
  if (!backend.compiles_for.empty())
    out.push_back("compiles for " + join(backend.compiles_for, ", "));
  if (out.empty()) out.push_back("nothing");
  if (!backend.has_device) out.push_back("this machine has no such device");
  return join(out, "; ");
}

std::string backend_text(const BackendFacts& backend) {
  const PluginStatus& plugin = backend.plugin;
  std::string out = fmt::format("{:<12} ", plugin.platform);
  const auto line = [&](std::string_view text) { out += fmt::format("{:<12} {}\n", "", text); };
  if (!is_there(backend)) {
    out += fmt::format("no plugin{}\n", plugin.problem.empty() ? "" : ": " + plugin.problem);
    if (backend.has_device && plugin.platform != "cpu") line("this machine has such a device");
    if (!backend.limits.empty()) line("note: " + backend.limits);
    return out;
  }
  out += plugin.path + "\n";
  if (!plugin.api_version.empty()) line(fmt::format("PJRT {}", plugin.api_version));
  for (const auto& [name, value] : plugin.attributes) line(fmt::format("{} {}", name, value));
  if (!plugin.extensions.empty()) line("extensions: " + join(plugin.extensions, ", "));
  if (works(backend)) line("here: " + abilities_text(backend));
  if (!backend.cuda_toolkit.empty()) line("ptxas and libdevice: " + backend.cuda_toolkit);
  if (!backend.missing.empty()) line("missing: " + backend.missing);
  for (const DeviceInfo& device : backend.devices) {
    line(fmt::format("device {}: {}{}", device.id, device.kind,
                     device.memory_bytes ? ", " + bytes_text(*device.memory_bytes) : ""));
  }
  for (const PeakFact& peak : backend.peaks)
    line(fmt::format("peak {}: {:.3g} GFLOP/s ({})", peak.dtype, peak.flops / 1e9, peak.source));
  if (!backend.limits.empty()) line("note: " + backend.limits);
  if (!plugin.problem.empty()) line("problem: " + plugin.problem);
  return out;
}

}  // namespace

BackendFacts examine_backend(const PluginStatus& plugin, const PluginPolicy& policy) {
  BackendFacts out{.plugin = plugin, .has_device = has_device(policy), .limits = policy.limits};
  if (!works(out)) return out;
  // Without a device, creating a client fails at best; some plugins block for minutes.
  if (out.has_device) count_devices(out);
  if (policy.compiles_ahead) list_targets(out, policy);
  return out;
}

DoctorReport examine_machine() {
  DoctorReport out{.version = std::string(version()),
                   .machine_name = host_machine(),
                   .machine = machine_facts(),
                   .backends = {},
                   .problems = {}};
  for (const PluginStatus& plugin : plugin_statuses())
    out.backends.push_back(examine_backend(plugin, plugin_policy(plugin.platform)));
  out.problems = problems_of(out);
  return out;
}

std::string to_text(const DoctorReport& report) {
  const MachineFacts& m = report.machine;
  std::string out = fmt::format("{:<12} {}\n", "axle", report.version);
  out += fmt::format("{:<12} {}: {}\n", "machine", report.machine_name, m.processor);
  out +=
      fmt::format("{:<12} {} cores, {}\n", "processor", m.num_cores, join(m.instruction_sets, " "));
  out += fmt::format("{:<12} {}, {} available\n", "memory", bytes_text(m.memory_bytes),
                     bytes_text(m.available_memory_bytes));
  out += fmt::format("{:<12} {} free here\n", "disk", bytes_text(m.free_disk_bytes));
  for (const BackendFacts& backend : report.backends) out += "\n" + backend_text(backend);
  out += report.problems.empty() ? "\nAll is well.\n" : "\nProblems\n";
  for (const std::string& problem : report.problems) out += "  " + problem + "\n";
  return out;
}

Json to_json(const DoctorReport& report) {
  const MachineFacts& m = report.machine;
  Json out = {{"version", report.version},
              {"machine", report.machine_name},
              {"processor", m.processor},
              {"num_cores", m.num_cores},
              {"instruction_sets", m.instruction_sets},
              {"memory_bytes", m.memory_bytes},
              {"available_memory_bytes", m.available_memory_bytes},
              {"free_disk_bytes", m.free_disk_bytes},
              {"backends", Json::object()},
              {"problems", report.problems}};
  for (const BackendFacts& backend : report.backends) {
    const PluginStatus& plugin = backend.plugin;
    Json& entry = out["backends"][plugin.platform];
    entry = {{"path", plugin.path},
             {"api_version", plugin.api_version},
             {"attributes", plugin.attributes},
             {"extensions", plugin.extensions},
             {"problem", plugin.problem},
             {"has_device", backend.has_device},
             {"compiles_for", backend.compiles_for},
             {"cuda_toolkit", backend.cuda_toolkit},
             {"missing", backend.missing},
             {"limits", backend.limits},
             {"devices", Json::array()},
             {"peaks", Json::object()}};
    for (const DeviceInfo& device : backend.devices) {
      entry["devices"].push_back(
          {{"id", device.id},
           {"kind", device.kind},
           {"memory_bytes", device.memory_bytes ? Json(*device.memory_bytes) : Json(nullptr)}});
    }
    for (const PeakFact& peak : backend.peaks)
      entry["peaks"][peak.dtype] = {{"flops", peak.flops}, {"source", peak.source}};
  }
  return out;
}

}  // namespace axle
