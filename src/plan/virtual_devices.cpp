#include "plan/virtual_devices.h"

#include <fmt/format.h>

#include "base/text/units.h"
#include "plan/graph/saved_values.h"

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

}  // namespace axle
