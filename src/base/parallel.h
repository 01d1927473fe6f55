// Loops over the cores of the host.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace axle {

/// Calls f(begin, end) for pieces that cover [0, n), on all cores of the host, and returns when all
/// of them are done. No piece but the last has fewer than `min_piece` items, so that small loops
/// stay on the calling thread. Loops inside `f`, and loops of a second thread at the same time, run
/// on the thread that calls them. The first exception of `f` is thrown again.
///
/// A result must not depend on how the items are divided into pieces.
void parallel_for(int64_t n, int64_t min_piece, const std::function<void(int64_t, int64_t)>& f);

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

/// Starts `f` in a thread of its own. If the system refuses one, get() of the future calls `f`: as
/// std::async does, but libstdc++ has then moved away what `f` holds.
template <class F>
auto start_or_defer(F f) {
  const auto shared = std::make_shared<F>(std::move(f));
  const auto call = [shared] { return (*shared)(); };
  try {
    return std::async(std::launch::async, call);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, call);
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
