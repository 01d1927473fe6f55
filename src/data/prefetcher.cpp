#include "data/prefetcher.h"

#include <algorithm>
#include <utility>

namespace axle {

Prefetcher::Prefetcher(std::unique_ptr<Input> input, int64_t depth)
    : input_(std::move(input)),
      depth_(static_cast<size_t>(std::max<int64_t>(depth, 1))),
      state_(input_->state()) {
  start();
}

Prefetcher::~Prefetcher() { stop(); }

void Prefetcher::start() {
  stopping_ = false;
  thread_ = std::thread([this, spare = Items(1)]() mutable { run(spare); });
}

void Prefetcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  ready_.clear();
}

// Returns the next item alone. One with an error is `spare`: memory may have run out.
Prefetcher::Items Prefetcher::make_item(Items& spare) {
  try {
    Items made(1);
    made.front().batch = input_->next();
    made.front().state = input_->state();
    return made;
  } catch (...) {
    spare.front().error = std::current_exception();
    return std::move(spare);
  }
}

void Prefetcher::run(Items& spare) {
  for (bool more = true; more;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || ready_.size() < depth_; });
      if (stopping_) return;
    }
    Items item = make_item(spare);
    more = item.front().batch.has_value();
    {
      const std::lock_guard lock(mutex_);
      ready_.splice(ready_.end(), item);
    }
    changed_.notify_all();
  }
}

std::optional<Batch> Prefetcher::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty(); });
  // The item that ends the data, or holds the error, stays in front for every later call: the
  // thread has ended.
  if (!ready_.front().batch) {
    if (ready_.front().error) std::rethrow_exception(ready_.front().error);
    return std::nullopt;
  }
  Item item = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  state_ = std::move(item.state);
  return std::move(item.batch);
}

void Prefetcher::restore(std::string_view state) {
  stop();
  try {
    input_->restore(state);
  } catch (...) {
    input_->restore(state_);  // go back to the last batch handed out; drop the batches made ahead
    start();
    throw;
  }
  state_ = input_->state();
  start();
}

}  // namespace axle
