// Threads that work can do without.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace axle {

/// Starts `f` as `thread`; false where the system gives no further thread: the caller does the work
/// itself then. `f` is copied, so that it stays whole for that.
template <class F>
bool try_start(std::thread& thread, const F& f) {
  try {
    thread = std::thread(f);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace axle
