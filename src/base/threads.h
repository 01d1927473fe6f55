// Starts threads on systems that may refuse them.
#pragma once

#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace axle {

/// Starts `f` as `thread`. Returns false if the system refuses a new thread or the memory for one;
/// the caller then does the work itself. `f` is copied, so that the caller still has it.
template <class F>
bool try_start(std::thread& thread, const F& f) {
  try {
    thread = std::thread(f);
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// True if the system can run `num_threads` further threads at the same time. For libraries that
/// crash if a thread is refused.
inline bool can_start(unsigned num_threads) {
  std::vector<std::thread> threads;
  threads.reserve(num_threads);  // nothing may throw while they run
  std::mutex mutex;
  std::unique_lock all_wait(mutex);
  bool started = true;
  while (started && threads.size() < num_threads)
    started = try_start(threads.emplace_back(), [&] { const std::lock_guard wait(mutex); });
  all_wait.unlock();
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  return started;
}

}  // namespace axle
