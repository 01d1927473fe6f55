// What this machine has and what it lacks for Axle, with the command that gets what is missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin_status.h"
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
  /// Whether the system has such a device, plugin or not.
  bool has_device = false;
  std::vector<DeviceInfo> devices = {};  // empty where the plugin can't be used or has no device
  std::vector<PeakFact> peaks = {};
  /// The accelerators for which it can compile here without having one: "v5p", "h100".
  std::vector<std::string> compiles_for = {};
  /// Where ptxas and libdevice lie, for the plugins that need them.
  std::string cuda_toolkit = {};
  /// What it needs to compile that is not here, and how to get it; empty: nothing.
  std::string missing = {};
  /// What it can't do, and what was never tried.
  std::string limits = {};
};

struct DoctorReport {
  std::string version, machine_name;
  MachineFacts machine;
  std::vector<BackendFacts> backends;
  /// One line each: what is wrong, and what to do about it. Empty: axle can train on this machine.
  std::vector<std::string> problems;
};

/// Loads the plugins that it finds and counts their devices, where the system has such; computes
/// nothing but the machine's peak.
DoctorReport examine_machine();
/// What can be done here with the plugins that are in that state.
BackendFacts examine_backend(const PluginStatus& plugin, const PluginPolicy& policy);

std::string to_text(const DoctorReport& report);
nlohmann::ordered_json to_json(const DoctorReport& report);

}  // namespace axle
