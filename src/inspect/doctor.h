// What this machine has and what it lacks for Axle, with the command that gets what is missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/plugin.h"
#include "runtime/runtime.h"

namespace axle {

struct MachineFacts {
  std::string processor;  // "AMD EPYC 9B14"
  int64_t num_cores = 0;  // that this process may use
  std::vector<std::string>
      instruction_sets;  // of those that matter here: "avx2", "fma", "amx_bf16", ...
  int64_t memory_bytes = 0, available_memory_bytes = 0;
  int64_t free_disk_bytes = 0;  // under the current folder
};

/// What of it could be read; 0 and empty for the rest.
MachineFacts machine_facts();

struct PeakFact {
  std::string dtype;
  double flops = 0;
  std::string source;
};

struct BackendFacts {
  PluginStatus plugin;
  std::vector<DeviceInfo> devices;  // empty where the plugin can't be used
  std::vector<PeakFact> peaks;
};

struct DoctorReport {
  std::string version, machine_name;
  MachineFacts machine;
  std::vector<BackendFacts> backends;
  /// One line each: what is wrong, and what to do about it. Empty: axle can train on this machine.
  std::vector<std::string> problems;
};

/// Loads the plugins that it finds and counts their devices; computes nothing but the machine's
/// peak.
DoctorReport examine_machine();

std::string to_text(const DoctorReport& report);
nlohmann::ordered_json to_json(const DoctorReport& report);

}  // namespace axle
