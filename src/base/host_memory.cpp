#include "base/host_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"
#include "base/text/text_table.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Table = std::map<std::string, int64_t>;

// Reads lines "name: number" or "name number".
Table read_table(const fs::path& path) {
  Table out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t value = 0;
    if (!(words >> name >> value)) continue;
    if (name.ends_with(':')) name.pop_back();
    out[name] = value;
  }
  return out;
}

std::optional<int64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is not a number
}

// The file and field names that a version of control groups uses.
struct CgroupFiles {
  const char *limit, *usage, *inactive, *active;
};
constexpr CgroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                   "total_inactive_file", "total_active_file"};
constexpr CgroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file", "active_file"};

void apply(HostMemory& memory, int64_t limit, int64_t used) {
  memory.total_bytes = std::min(memory.total_bytes, limit);
  memory.available_bytes =
      std::clamp<int64_t>(limit - used, 0, std::max<int64_t>(memory.available_bytes, 0));
}

// Applies the limits of `group` and of the groups around it. A container that sees only its own
// group sees that group as the root.
void apply_cgroups(HostMemory& memory, const fs::path& root, const std::string& group,
                   const CgroupFiles& files) {
  fs::path folder = root / fs::path(group).relative_path();
  while (true) {
    const auto limit = read_number(folder / files.limit);
    if (limit && *limit < memory.total_bytes) {
      Table stat = read_table(folder / "memory.stat");
      const int64_t caches = stat[files.inactive] + stat[files.active];
      apply(memory, *limit, read_number(folder / files.usage).value_or(0) - caches);
    }
    if (folder == root || !folder.has_relative_path()) return;
    folder = folder.parent_path();
  }
}

void apply_address_limit(HostMemory& memory, const fs::path& proc) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto used = read_number(proc / "self/statm");
  const auto bytes =
      static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int64_t>::max()));
  if (used && bytes < memory.total_bytes) apply(memory, bytes, *used * ::sysconf(_SC_PAGESIZE));
}

}  // namespace

int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

HostMemory host_memory(const fs::path& proc, const fs::path& cgroups) {
  Table info = read_table(proc / "meminfo");
  HostMemory memory{.total_bytes = info["MemTotal"] * 1024,
                    .available_bytes = (info["MemAvailable"] + info["SwapFree"]) * 1024};
  if (memory.total_bytes == 0) return {};
  // Lines are "4:memory:/path" in version 1, "0::/path" in version 2.
  std::ifstream groups(proc / "self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      std::error_code ignored;
      const bool is_beside_version_1 = fs::exists(cgroups / "unified", ignored);
      apply_cgroups(memory, is_beside_version_1 ? cgroups / "unified" : cgroups, group, kVersion2);
    } else if (controllers.find(",memory,") != controllers.npos) {
      apply_cgroups(memory, cgroups / "memory", group, kVersion1);
    }
  }
  apply_address_limit(memory, proc);
  return memory;
}

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
