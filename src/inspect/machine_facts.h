// The facts of this machine that the system tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace axle
