// Checks that data dependencies alone put the collectives of a program into the same order on all
// devices.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "hlo/module.h"

namespace axle {

/// Finds two communicating instructions of one computation that do not depend on each other, where
/// at least one is a loop, branch or call. Returns their names; none if there is no such pair.
///
/// XLA's CPU compiler orders such a pair by a resource that both use. A saved program loses this
/// order, because it gives each computation a resource of its own (thunk_proto_serdes.cc). Devices
/// may then run the pair in different orders and wait for each other for ever.
std::optional<std::pair<std::string, std::string>> unordered_collectives(const HloModule& module);

}  // namespace axle
