#include "config/class_call.h"

#include <dlfcn.h>

#include <mutex>

#include "base/while_memory_lasts.h"
#include "config/config_type.h"

namespace axle {
namespace {

std::mutex failed_mutex;
std::optional<FailedCall> failed;

// Returns the program or library that holds an object.
const void* holder_of(const void* object) {
  Dl_info info = {};
  return ::dladdr(object, &info) ? info.dli_fbase : nullptr;
}

bool is_of_axle(const std::type_info& type) {
  static const char here = 0;
  return holder_of(&type) == holder_of(&here);
}

}  // namespace

void note_failed_call(const std::type_info& type, std::string_view where) {
  if (is_of_axle(type)) return;
  const std::lock_guard lock(failed_mutex);
  if (failed) return;
  // The exception under way may be that memory has run out.
  while_memory_lasts(
      [&] { failed = {.class_name = short_type_name(type), .where = std::string(where)}; });
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
