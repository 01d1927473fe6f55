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

void check_host_memory(std::span<const HostNeed> needs, const HostMemory& memory) {
  int64_t needed = 0;
  std::vector<std::string> parts;
  std::string largest;
  for (const HostNeed& need : needs) {
    needed = saturating_sum(needed, need.bytes);
    parts.push_back(fmt::format("{} {}", need.what, bytes_text(need.bytes)));
    if (!need.largest.empty()) largest += "; " + need.largest + " alone";
  }
  if (has(memory, needed)) return;
  throw Error(fmt::format("host memory: expected {} for this run ({}{}), got {}; take a smaller "
                          "model or batch, or a machine with more memory",
                          bytes_text(needed), join(parts, ", "), largest, to_text(memory)),
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
