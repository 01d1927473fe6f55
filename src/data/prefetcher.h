// Batches made ahead of time in a thread of their own, so that a training step never waits for
// data.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "data/input.h"

namespace axle {

/// An input in front of another: the same batches in the same order, and state() is that of the
/// batch handed out last, whatever lies ready behind it. Use it from one thread.
class Prefetcher final : public Input {
 public:
  /// Keeps up to `depth` batches ready, at least 1.
  Prefetcher(std::unique_ptr<Input> input, int64_t depth);
  /// Waits for the batch that is being made, no longer.
  ~Prefetcher() override;

  Tree<Type> element_spec() const override { return input_->element_spec(); }
  /// Rethrows what the input threw, after the batches made before that.
  std::optional<Batch> next() override;
  std::string state() const override { return state_; }
  void restore(std::string_view state) override;
  InputFacts facts() const override { return input_->facts(); }

 private:
  // A batch and the state after it; none and maybe an error at the end.
  struct Item {
    std::optional<Batch> batch;
    std::string state;
    std::exception_ptr error;
  };
  void start();
  void stop();
  void run();
  Item make_item();

  std::unique_ptr<Input> input_;
  size_t depth_;
  std::string state_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> ready_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace axle
