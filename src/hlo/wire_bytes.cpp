#include "hlo/wire_bytes.h"

#include <algorithm>
#include <map>

namespace axle {
namespace {

int64_t fast_group(const std::vector<int64_t>& fast_groups, int64_t position) {
  const auto i = static_cast<size_t>(position);
  return i < fast_groups.size() ? fast_groups[i] : 0;
}

WireBytes of_group(std::string_view kind, double bytes, const std::vector<int64_t>& group,
                   const std::vector<int64_t>& fast_groups) {
  std::map<int64_t, int64_t> members;
  for (const int64_t position : group) ++members[fast_group(fast_groups, position)];
  int64_t fewest = 0;  // of the devices in one fast group: with fewer devices each sends more
  for (const auto& [number, count] : members)
    fewest = fewest == 0 ? count : std::min(fewest, count);
  const double all = static_cast<double>(group.size()), parts = static_cast<double>(members.size()),
               within = static_cast<double>(fewest);
  if (kind == "all-to-all" || kind == "ragged-all-to-all")
    return {.fast = bytes * (within - 1) / all, .slow = bytes * (all - within) / all};
  if (kind == "all-reduce") bytes *= 2;
  return {.fast = bytes * (within - 1) / within, .slow = bytes * (parts - 1) / parts / within};
}

}  // namespace

WireBytes wire_bytes(std::string_view kind, int64_t bytes, const ReplicaGroups& groups,
                     const std::vector<int64_t>& fast_groups) {
  WireBytes most;
  for (const auto& group : groups) {
    if (group.size() < 2) continue;
    const WireBytes one = of_group(kind, static_cast<double>(bytes), group, fast_groups);
    most = {std::max(most.fast, one.fast), std::max(most.slow, one.slow)};
  }
  return most;
}

WireBytes wire_bytes(int64_t bytes, const SourceTargets& pairs,
                     const std::vector<int64_t>& fast_groups) {
  WireBytes out;
  for (const auto& [from, to] : pairs) {
    if (from == to) continue;
    const bool fast = fast_group(fast_groups, from) == fast_group(fast_groups, to);
    (fast ? out.fast : out.slow) = static_cast<double>(bytes);
  }
  return out;
}

}  // namespace axle
