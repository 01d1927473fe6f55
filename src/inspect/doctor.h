// Reports what this machine has and lacks for running Axle, with the commands that install what is
// missing.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pjrt/plugin_status.h"
#include "runtime/runtime.h"

namespace axle {

struct MachineFacts {
  std::string processor;  // "AMD EPYC 9B14"
  int64_t num_cores = 0;  // cores that this process may use
  std::vector<std::string>
      instruction_sets;  // of those that matter: "avx2", "fma", "amx_bf16", ...
  int64_t memory_bytes = 0, available_memory_bytes = 0;
  int64_t free_disk_bytes = 0;  // of the file system of the current folder
};

/// Reads the facts of this machine. A fact that can't be read is 0 or empty.
MachineFacts machine_facts();

struct PluginPolicy;

/// A peak of the devices for matrix products.
struct PeakFact {
  std::string dtype;
  double flops = 0;
  std::string source;
};

struct BackendFacts {
  PluginStatus plugin;
  /// True if the system has such a device, whether or not there is a plugin for it.
  bool has_device = false;
  std::vector<DeviceInfo> devices = {};  // empty: the plugin can't be used or has no device
  std::vector<PeakFact> peaks = {};
  /// Accelerators for which the plugin can compile without having one: "v5p", "h100".
  std::vector<std::string> compiles_for = {};
  /// Folder of ptxas and libdevice, for plugins that need them; else empty.
  std::string cuda_toolkit = {};
  /// Tools that compiling needs and that are missing, and how to get them; empty: none.
  std::string missing = {};
  /// Known limits of the backend, and what was never tried.
  std::string limits = {};
};

struct DoctorReport {
  std::string version, machine_name;
  MachineFacts machine;
  std::vector<BackendFacts> backends;
  /// One line for each problem, with its remedy. Empty: axle can train on this machine.
  std::vector<std::string> problems;
};

/// Loads the plugins that it finds. If the system has devices for a plugin, counts them. Computes
/// nothing except to measure the machine's peak.
DoctorReport examine_machine();
/// Returns what a plugin in this state can do on this machine.
BackendFacts examine_backend(const PluginStatus& plugin, const PluginPolicy& policy);

std::string to_text(const DoctorReport& report);
nlohmann::ordered_json to_json(const DoctorReport& report);

}  // namespace axle
