#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>

namespace axle {
namespace {

// A loop that threads share.
struct Loop {
  const std::function<void(int64_t, int64_t)>& f;
  int64_t n, piece;
  std::atomic<int64_t> next{0};
  std::mutex mutex = {};
  std::exception_ptr error = {};

  void work() {
    for (;;) {
      const int64_t begin = next.fetch_add(piece);
      if (begin >= n) return;
      try {
        f(begin, std::min(begin + piece, n));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = n;
      }
    }
  }
};

thread_local bool t_in_loop = false;

// Threads that wait for loops. They start with the first loop and stay until the process ends.
class Pool {
 public:
  static Pool& instance() {
    static auto* const pool = new Pool;  // leaked: its threads may outlive every static
    return *pool;
  }

  size_t num_threads() const { return num_threads_; }

  // Returns false if another thread's loop has the pool.
  bool run(Loop& loop) {
    const std::unique_lock own(busy_, std::try_to_lock);
    if (!own) return false;
    {
      const std::lock_guard lock(mutex_);
      loop_ = &loop;
      ++num_loops_;
    }
    wake_.notify_all();
    t_in_loop = true;
    loop.work();
    t_in_loop = false;
    std::unique_lock lock(mutex_);
    loop_ = nullptr;
    done_.wait(lock, [&] { return num_working_ == 0; });
    return true;
  }

 private:
  Pool() {
    const unsigned others = std::max(1u, std::thread::hardware_concurrency()) - 1;
    for (unsigned i = 0; i < others; ++i) {
      std::thread thread;
      if (!try_start(thread, [this] { serve(); })) break;
      thread.detach();
      ++num_threads_;
    }
  }

  void serve() {
    t_in_loop = true;
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return loop_ != nullptr && num_loops_ != seen; });
      seen = num_loops_;
      Loop& loop = *loop_;
      ++num_working_;
      lock.unlock();
      loop.work();
      lock.lock();
      if (--num_working_ == 0) done_.notify_all();
    }
  }

  size_t num_threads_ = 0;
  std::mutex busy_;  // held by the thread whose loop runs
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Loop* loop_ = nullptr;
  uint64_t num_loops_ = 0;
  int num_working_ = 0;
};

}  // namespace

void parallel_for(int64_t n, int64_t min_piece, const std::function<void(int64_t, int64_t)>& f) {
  if (n <= 0) return;
  if (!t_in_loop && n > min_piece) {
    Pool& pool = Pool::instance();
    // Each thread gets several pieces, so that none waits long for one that is interrupted.
    const auto wanted = static_cast<int64_t>(4 * (pool.num_threads() + 1));
    Loop loop{.f = f, .n = n, .piece = std::max(min_piece, (n + wanted - 1) / wanted)};
    if (pool.num_threads() > 0 && pool.run(loop)) {
      if (loop.error) std::rethrow_exception(loop.error);
      return;
    }
  }
  f(0, n);
}

}  // namespace axle
