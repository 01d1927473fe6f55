// What one run of a collective makes a device send, over the fast network and over the slow one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/replica_groups.h"

namespace axle {

/// Bytes that the device that sends most sends; as many arrive.
struct WireBytes {
  double fast = 0, slow = 0;
  bool operator==(const WireBytes&) const = default;
};

/// Of one collective over `groups` of positions, whose operand or result, whichever is larger, has
/// `bytes` on a device. `fast_groups`: for each position the number of its slice or node
/// (device_order.h); empty: all are joined by the fast network. Counted for algorithms that send
/// each byte once over the slow network and spread it by the fast one: a gather or scatter over n
/// devices moves (n - 1) / n of the bytes, an all-reduce twice as much.
WireBytes wire_bytes(std::string_view kind, int64_t bytes, const ReplicaGroups& groups,
                     const std::vector<int64_t>& fast_groups);
/// Of a permutation.
WireBytes wire_bytes(int64_t bytes, const SourceTargets& pairs,
                     const std::vector<int64_t>& fast_groups);

}  // namespace axle
