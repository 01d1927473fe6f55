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
  thread_ = std::thread([this] { run(); });
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

Prefetcher::Item Prefetcher::make_item() {
  Item item;
  try {
    item.batch = input_->next();
    item.state = input_->state();
  } catch (...) {
    item.batch.reset();
    item.error = std::current_exception();
  }
  return item;
}

void Prefetcher::run() {
  for (bool more = true; more;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || ready_.size() < depth_; });
      if (stopping_) return;
    }
    Item item = make_item();
    more = item.batch.has_value();
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(item));
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
