// Whether all devices meet the collectives of a program in one order by its data alone.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "hlo/module.h"

namespace axle {

/// Two instructions of one computation that communicate, at least one of them by what it calls (a
/// loop, a branch, a call), and of which neither waits for a result of the other; none if there are
/// no such two. XLA's CPU compiler orders them by a resource that both use, but forgets whose it is
/// when the program is saved (one resource for each computation: thunk_proto_serdes.cc), so that
/// devices may take them in different orders and wait for each other for ever.
std::optional<std::pair<std::string, std::string>> unordered_collectives(const HloModule& module);

}  // namespace axle
