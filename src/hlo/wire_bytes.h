// The bytes that a device sends in one run of a collective, over the fast and the slow network.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/replica_groups.h"

namespace axle {

/// Bytes that one device sends, for the device that sends the most. It receives as many bytes.
struct WireBytes {
  double fast = 0, slow = 0;
  bool operator==(const WireBytes&) const = default;
};

/// Returns the wire bytes of one run of a collective.
///   bytes        size on one device of the operand or the result, whichever is larger
///   groups       the replica groups, as positions in the mesh
///   fast_groups  for each position the number of its slice or node (device_order.h); empty: the
///                fast network joins all devices
/// The count assumes algorithms that send each byte once over the slow network and distribute it
/// over the fast one. A gather or scatter over n devices moves (n - 1) / n of the bytes, an
/// all-reduce twice as much.
WireBytes wire_bytes(std::string_view kind, int64_t bytes, const ReplicaGroups& groups,
                     const std::vector<int64_t>& fast_groups);
/// Returns the wire bytes of one collective-permute.
WireBytes wire_bytes(int64_t bytes, const SourceTargets& pairs,
                     const std::vector<int64_t>& fast_groups);

}  // namespace axle
