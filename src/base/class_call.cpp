#include "base/class_call.h"

#include <dlfcn.h>

#include <mutex>

#include "base/host_memory.h"
#include "base/type_name.h"

namespace axle {
namespace {

std::mutex failed_mutex;
std::optional<FailedCall> failed;

// Returns the program or library that holds an object.
const void* holder_of(const void* object) {
  Dl_info info = {};
  return ::dladdr(object, &info) ? info.dli_fbase : nullptr;
}

}  // namespace

void ClassCall::note() const {
  static const char here = 0;
  if (holder_of(&type_) == holder_of(&here)) return;
  const std::lock_guard lock(failed_mutex);
  if (failed) return;
  // The exception under way may be that memory has run out.
  while_memory_lasts(
      [&] { failed = {.class_name = short_type_name(type_), .where = std::string(where_)}; });
}

void forget_failed_calls() {
  const std::lock_guard lock(failed_mutex);
  failed.reset();
}

std::optional<FailedCall> failed_call() {
  const std::lock_guard lock(failed_mutex);
  return failed;
}

}  // namespace axle
