// The part of the doctor that reads the system's own tables.
#include "inspect/machine_facts.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "base/host_memory.h"
#include "base/text/text.h"

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

}  // namespace axle
