// Whether the host's memory holds what is about to be put there: told before it is, not by the
// system that kills the process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/host_memory.h"

namespace axle {

/// A part of what goes into the host's memory.
struct HostNeed {
  std::string what;
  int64_t bytes = 0;
  /// Its largest part with its bytes, for the message: "model.decoder.emb.weight 3.0 GiB".
  std::string largest = {};
};

/// "1.5 GiB available of 4.0 GiB".
std::string to_text(const HostMemory& memory);

/// Throws Error with kDoesNotFit and the figures if `memory` has not as much available, where it is
/// known.
void check_host_memory(std::span<const HostNeed> needs, const HostMemory& memory);

/// A look at the memory takes a tenth of a millisecond, less than to fill as much as this: what is
/// smaller is not checked one by one.
inline constexpr int64_t kSmallHostBytes = int64_t{16} << 20;

/// The same for one thing, now: `where` is the file that it comes from, or what it is.
/// "corpus.txt: expected 3.5 GiB of the host's memory for its text, got 1.5 GiB available of ...".
/// Less than kSmallHostBytes passes unseen.
void check_host_room(std::string_view where, std::string_view what, int64_t bytes);

}  // namespace axle
