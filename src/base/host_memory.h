// The memory that this process may still allocate, and checks that data fits before it is loaded.
#pragma once

#include <malloc.h>

#include <cstdint>
#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace axle {

struct HostMemory {
  /// Memory of the machine, or the limit set by a container or `ulimit -v` if lower; 0 if unknown.
  int64_t total_bytes = 0;
  /// Memory that can be allocated before the system kills a process: free memory, caches that the
  /// kernel can drop, and swap, but at most what a container and `ulimit -v` leave. 0 if unknown.
  int64_t available_bytes = 0;
};

/// Returns the resident memory of this process, in bytes; 0 if the system does not report it.
int64_t resident_bytes();

/// Reads the kernel's tables. Tests pass other folders.
HostMemory host_memory(const std::filesystem::path& proc = "/proc",
                       const std::filesystem::path& cgroups = "/sys/fs/cgroup");

// Checks that data fits into the host's memory before it is loaded, so that the user gets a message
// instead of a process killed by the system.

/// One part of the data that goes into the host's memory.
struct HostNeed {
  std::string what;
  int64_t bytes = 0;
  /// The largest item of this part with its size, for the message: "model.decoder.emb.weight 3.0
  /// GiB".
  std::string largest = {};
};

/// "1.5 GiB available of 4.0 GiB".
std::string to_text(const HostMemory& memory);

/// True if the available memory is enough, or unknown.
bool fits_host_memory(std::span<const HostNeed> needs, const HostMemory& memory);

/// Throws Error with kDoesNotFit and the sizes if the needs exceed the available memory. The
/// message names the largest item of a part that takes at least a tenth of all, and ends with
/// `what_to_do`.
void check_host_memory(
    std::span<const HostNeed> needs, const HostMemory& memory,
    std::string_view what_to_do = "take a smaller model or batch, or a machine with more memory");

/// check_host_allocation does not check sizes below this. Reading the available memory takes
/// 0.1 ms, less than filling this many bytes.
inline constexpr int64_t kSmallHostBytes = int64_t{16} << 20;

/// Checks one allocation against the memory available now. `where` is the file that the data comes
/// from, or a name for it. Throws Error with kDoesNotFit: "corpus.txt: expected 3.5 GiB of the
/// host's memory for its text, got 1.5 GiB available of ...". Does not check less than
/// kSmallHostBytes.
void check_host_allocation(std::string_view where, std::string_view what, int64_t bytes);

/// Returns freed memory to the system, where much was freed before more is needed.
inline void release_free_memory() { ::malloc_trim(0); }

/// Calls `f`. Where memory runs out, the rest of `f` is left undone and nothing is reported: for
/// destructors and threads, which may not throw, and for reports of a failure under way.
template <class F>
void while_memory_lasts(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace axle
