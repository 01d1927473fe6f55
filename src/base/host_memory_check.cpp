#include "base/host_memory_check.h"

#include <fmt/format.h>

#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/text/text.h"
#include "base/text/units.h"

namespace axle {
namespace {

bool has(const HostMemory& memory, int64_t bytes) {
  return memory.total_bytes == 0 || bytes <= memory.available_bytes;
}

}  // namespace

std::string to_text(const HostMemory& memory) {
  return fmt::format("{} available of {}", bytes_text(memory.available_bytes),
                     bytes_text(memory.total_bytes));
}

namespace {

int64_t sum_of(std::span<const HostNeed> needs) {
  int64_t out = 0;
  for (const HostNeed& need : needs) out = saturating_sum(out, need.bytes);
  return out;
}

}  // namespace

bool fits_host_memory(std::span<const HostNeed> needs, const HostMemory& memory) {
  return has(memory, sum_of(needs));
}

void check_host_memory(std::span<const HostNeed> needs, const HostMemory& memory,
                       std::string_view what_to_do) {
  const int64_t needed = sum_of(needs);
  if (has(memory, needed)) return;
  std::vector<std::string> parts;
  std::string largest;
  for (const HostNeed& need : needs) {
    parts.push_back(fmt::format("{} {}", need.what, bytes_text(need.bytes)));
    if (!need.largest.empty() && need.bytes >= needed / 10)
      largest += "; " + need.largest + " alone";
  }
  throw Error(
      fmt::format("host memory: expected {} for this run ({}{}), got {}; {}", bytes_text(needed),
                  join(parts, ", "), largest, to_text(memory), what_to_do),
      ExitCode::kDoesNotFit);
}

void check_host_allocation(std::string_view where, std::string_view what, int64_t bytes) {
  if (bytes < kSmallHostBytes) return;
  const HostMemory memory = host_memory();
  if (has(memory, bytes)) return;
  throw Error(
      fmt::format(
          "{}: expected {} of host memory for {}, got {}; use less, or a machine with more memory",
          where, bytes_text(bytes), what, to_text(memory)),
      ExitCode::kDoesNotFit);
}

}  // namespace axle
