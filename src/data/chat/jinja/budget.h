// Limits on what the rendering of a template may take. Templates come with models of others: a loop
// without end or a text that doubles itself must end in an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace axle::jinja {

/// Describes what is wrong in a template or in the values given to it, without the place. Those who
/// know the line convert it into a DataError.
struct JinjaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What `raise_exception(message)` throws: the template refuses the values.
struct Refusal : JinjaError {
  using JinjaError::JinjaError;
};

/// Levels of expressions, blocks and calls inside of each other.
inline constexpr int kMaxDepth = 1000;
/// Levels of lists and mappings inside of each other.
inline constexpr int kMaxValueDepth = 200;
/// Elements of a range(), as Jinja2's sandbox has it.
inline constexpr int64_t kMaxRange = 100'000;

struct Limits {
  /// Expressions, loop rounds and elements visited.
  int64_t max_steps = 5'000'000;
  /// Bytes of all texts and lists made, also of those no longer needed.
  int64_t max_bytes = int64_t{256} << 20;
  /// Bytes of one text or list.
  int64_t max_value_bytes = int64_t{64} << 20;
  int64_t max_output_bytes = int64_t{64} << 20;
};

/// What is left of the limits. Throws JinjaError when it is used up.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}
  void step(size_t count = 1) {
    steps_ += static_cast<int64_t>(count);
    if (steps_ > limits_.max_steps) fail_steps();
  }
  /// Call it before the bytes are allocated.
  void bytes(size_t count) {
    check_bytes(count);
    bytes_ += static_cast<int64_t>(count);
    if (bytes_ > limits_.max_bytes) fail_bytes();
  }
  /// Refuses a text or list that is larger than one may be.
  void check_bytes(size_t count) const {
    if (count > static_cast<size_t>(limits_.max_value_bytes)) fail_value_bytes();
  }
  void check_output(size_t size) const {
    if (size > static_cast<size_t>(limits_.max_output_bytes)) fail_output();
  }
  /// A level of depth, for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(&budget) {
      if (++budget.depth_ > kMaxDepth) {
        --budget.depth_;
        fail_depth();
      }
    }
    ~Level() { --budget_->depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget* budget_;
  };

 private:
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_bytes() const;
  [[noreturn]] void fail_value_bytes() const;
  [[noreturn]] void fail_output() const;
  [[noreturn]] static void fail_depth();

  Limits limits_;
  int64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

}  // namespace axle::jinja
