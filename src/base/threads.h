// Starts threads on systems that may refuse them.
#pragma once

#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace axle {

/// Starts `f` as `thread`. Returns false if the system refuses a new thread; the caller then does
/// the work itself. `f` is copied, so that the caller still has it.
template <class F>
bool try_start(std::thread& thread, const F& f) {
  try {
    thread = std::thread(f);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

/// True if the system can run `num_threads` further threads at the same time. For libraries that
/// crash if a thread is refused.
inline bool can_start(unsigned num_threads) {
  std::mutex mutex;
  std::unique_lock all_wait(mutex);
  std::vector<std::thread> threads;
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
