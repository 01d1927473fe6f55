#include "inspect/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/version.h"
#include "inspect/text_table.h"
#include "recipes/resolve.h"
#include "runtime/machine_peak.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLowDiskBytes = int64_t{2} << 30;
constexpr int64_t kLowMemoryBytes = int64_t{2} << 30;

BackendFacts examine(PluginStatus plugin) {
  BackendFacts out{.plugin = std::move(plugin), .devices = {}, .peaks = {}};
  if (!out.plugin.problem.empty() || out.plugin.path.empty()) return out;
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
  return out;
}

bool is_there(const BackendFacts& backend) { return !backend.plugin.path.empty(); }
bool works(const BackendFacts& backend) {
  return is_there(backend) && backend.plugin.problem.empty();
}

std::vector<std::string> problems_of(const DoctorReport& report) {
  std::vector<std::string> out;
  const bool any = std::ranges::any_of(report.backends, works);
  for (const BackendFacts& backend : report.backends) {
    // One working backend is enough: others may be absent, but not broken.
    const bool matters = is_there(backend) || (!any && backend.plugin.platform == "cpu");
    if (matters && !backend.plugin.problem.empty())
      out.push_back(fmt::format("{} plugin: {}", backend.plugin.platform, backend.plugin.problem));
  }
  const int64_t disk = report.machine.free_disk_bytes,
                memory = report.machine.available_memory_bytes;
  if (disk > 0 && disk < kLowDiskBytes) {
    out.push_back(
        fmt::format("disk: expected some room for checkpoints, got {} under this folder; choose "
                    "--dir elsewhere",
                    bytes_text(static_cast<double>(disk))));
  }
  if (memory > 0 && memory < kLowMemoryBytes) {
    out.push_back(fmt::format("memory: expected 2 GiB for the quickstart, got {} available",
                              bytes_text(static_cast<double>(memory))));
  }
  return out;
}

std::string backend_text(const BackendFacts& backend) {
  const PluginStatus& plugin = backend.plugin;
  std::string out = fmt::format("{:<12} ", plugin.platform);
  if (!is_there(backend))
    return out + fmt::format("no plugin{}\n", plugin.problem.empty() ? "" : ": " + plugin.problem);
  out += plugin.path + "\n";
  const auto line = [&](std::string_view text) { out += fmt::format("{:<12} {}\n", "", text); };
  if (!plugin.api_version.empty()) line(fmt::format("PJRT {}", plugin.api_version));
  for (const auto& [name, value] : plugin.attributes) line(fmt::format("{} {}", name, value));
  if (!plugin.extensions.empty()) line("extensions: " + join(plugin.extensions, ", "));
  for (const DeviceInfo& device : backend.devices) {
    line(fmt::format(
        "device {}: {}{}", device.id, device.kind,
        device.memory_bytes ? ", " + bytes_text(static_cast<double>(*device.memory_bytes)) : ""));
  }
  for (const PeakFact& peak : backend.peaks)
    line(fmt::format("peak {}: {:.3g} GFLOP/s ({})", peak.dtype, peak.flops / 1e9, peak.source));
  if (!plugin.problem.empty()) line("problem: " + plugin.problem);
  return out;
}

}  // namespace

DoctorReport examine_machine() {
  DoctorReport out{.version = std::string(version()),
                   .machine_name = host_machine(),
                   .machine = machine_facts(),
                   .backends = {},
                   .problems = {}};
  for (PluginStatus& plugin : find_plugins()) out.backends.push_back(examine(std::move(plugin)));
  out.problems = problems_of(out);
  return out;
}

std::string to_text(const DoctorReport& report) {
  const MachineFacts& m = report.machine;
  std::string out = fmt::format("{:<12} {}\n", "axle", report.version);
  out += fmt::format("{:<12} {}: {}\n", "machine", report.machine_name, m.processor);
  out +=
      fmt::format("{:<12} {} cores, {}\n", "processor", m.num_cores, join(m.instruction_sets, " "));
  out += fmt::format("{:<12} {}, {} available\n", "memory",
                     bytes_text(static_cast<double>(m.memory_bytes)),
                     bytes_text(static_cast<double>(m.available_memory_bytes)));
  out += fmt::format("{:<12} {} free here\n", "disk",
                     bytes_text(static_cast<double>(m.free_disk_bytes)));
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
