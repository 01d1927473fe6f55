#include "ir/call_stack.h"

#include <mutex>

#ifdef AXLE_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace axle {

#ifdef AXLE_HAS_BACKTRACE
std::vector<SourceLine> source_lines(uintptr_t return_address) {
  // Files that cannot be read count as files without debug information.
  const auto ignore = [](void*, const char*, int) {};
  const auto add = [](void* lines, uintptr_t, const char* file, int line, const char*) {
    if (file) static_cast<std::vector<SourceLine>*>(lines)->push_back({file, line});
    return 0;
  };
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // libbacktrace never frees its state.
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore, nullptr);
  std::vector<SourceLine> out;
  // The call is the instruction before the one to return to.
  if (state) backtrace_pcinfo(state, return_address - 1, add, ignore, &out);
  return out;
}
#else
std::vector<SourceLine> source_lines(uintptr_t) { return {}; }
#endif

}  // namespace axle
