// Threads where the system may have none to give.
#pragma once

#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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

/// Whether so many threads can be had at once: for what does not survive to be refused one.
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
