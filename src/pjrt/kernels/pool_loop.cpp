#include "pjrt/kernels/pool_loop.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

namespace axle {
namespace {

// Ranges for each thread, so that one that loses its core holds the others up for little.
constexpr int64_t kRangesPerThread = 4;

// The loop that its threads share. A thread that comes when all ranges are taken does nothing.
class Loop {
 public:
  Loop(int64_t count, int64_t range, const std::function<void(int64_t, int64_t)>& work)
      : count_(count), range_(range), work_(work) {}

  void run() {
    for (;;) {
      const int64_t first = next_.fetch_add(range_);
      if (first >= count_) return;
      const int64_t last = std::min(first + range_, count_);
      try {
        work_(first, last);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      num_done_ += last - first;
      if (num_done_ == count_) done_.notify_all();
    }
  }

  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return num_done_ == count_; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const int64_t count_, range_;
  // Used only while the caller of pool_loop waits.
  const std::function<void(int64_t, int64_t)>& work_;
  std::atomic<int64_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable done_;
  int64_t num_done_ = 0;
  std::exception_ptr error_;
};

int64_t num_threads_of(const ffi::Api& api, ffi::Context* context) {
  int64_t out = 1;
  ffi::ThreadPoolNumThreads args{.head = {sizeof(ffi::ThreadPoolNumThreads), nullptr},
                                 .context = context,
                                 .num_threads = &out};
  if (ffi::Error* error = api.thread_pool_num_threads(&args)) {
    ffi::ErrorDestroy destroy{.head = {sizeof(ffi::ErrorDestroy), nullptr}, .error = error};
    api.error_destroy(&destroy);
    return 1;
  }
  return out;
}

// Gives the loop to a thread of the pool; without one the caller does all the work.
void give_to_pool(const ffi::Api& api, ffi::Context* context, const std::shared_ptr<Loop>& loop) {
  auto owned = std::make_unique<std::shared_ptr<Loop>>(loop);
  ffi::ThreadPoolSchedule args{.head = {sizeof(ffi::ThreadPoolSchedule), nullptr},
                               .context = context,
                               .task =
                                   [](void* data) {
                                     const std::unique_ptr<std::shared_ptr<Loop>> own(
                                         static_cast<std::shared_ptr<Loop>*>(data));
                                     (*own)->run();
                                   },
                               .data = owned.get()};
  ffi::Error* error = api.thread_pool_schedule(&args);
  if (!error) {
    owned.release();
    return;
  }
  ffi::ErrorDestroy destroy{.head = {sizeof(ffi::ErrorDestroy), nullptr}, .error = error};
  api.error_destroy(&destroy);
}

}  // namespace

void pool_loop(const ffi::Api& api, ffi::Context* context, int64_t count, int64_t grain,
               const std::function<void(int64_t first, int64_t last)>& work) {
  if (count <= 0) return;
  const int64_t most = std::max<int64_t>(count / std::max<int64_t>(grain, 1), 1);
  const int64_t threads = most == 1 ? 1 : std::min(num_threads_of(api, context), most);
  if (threads <= 1) return work(0, count);
  const int64_t ranges = std::min(threads * kRangesPerThread, most);
  const auto loop = std::make_shared<Loop>(count, (count + ranges - 1) / ranges, work);
  for (int64_t i = 1; i < threads; ++i) give_to_pool(api, context, loop);
  loop->run();
  loop->wait();
}

}  // namespace axle
