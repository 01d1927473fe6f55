// Makes batches ahead of time in a separate thread, so that a training step never waits for data.
#pragma once

#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "data/input.h"

namespace axle {

/// Wraps another input: returns the same batches in the same order. state() belongs to the last
/// batch returned by next(), no matter how many are ready. Use it from one thread only.
class Prefetcher final : public Input {
 public:
  /// Keeps up to `depth` batches ready, at least 1.
  Prefetcher(std::unique_ptr<Input> input, int64_t depth);
  /// Waits only for the batch that is being made.
  ~Prefetcher() override;

  Tree<Type> element_spec() const override { return input_->element_spec(); }
  /// Rethrows an exception of the input, after the batches made before it.
  std::optional<Batch> next() override;
  std::string state() const override { return state_; }
  void restore(std::string_view state) override;
  InputFacts facts() const override { return input_->facts(); }

 private:
  // A batch and the state after it. The last item has no batch, and perhaps an error.
  struct Item {
    std::optional<Batch> batch;
    std::string state;
    std::exception_ptr error;
  };
  void start();
  void stop();
  using Items = std::list<Item>;  // to hand over an item, no memory is needed
  void run(Items& spare);
  Items make_item(Items& spare);

  std::unique_ptr<Input> input_;
  size_t depth_;
  std::string state_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Items ready_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace axle
