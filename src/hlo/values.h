// Where values of an XLA program come from: through casts, slices, tuples, fusions and loops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hlo/module.h"

namespace axle {

/// Follows values of one module, which outlives it.
class HloValues {
 public:
  explicit HloValues(const HloModule& module);

  /// Number of the program's argument of which an instruction's result is a part, a cast or another
  /// layout, maybe joined from parts or set into zeros; none if it was computed.
  std::optional<int64_t> argument(size_t computation, size_t instruction) const;
  /// The name nearest to a result on the way to where it comes from that is not only that of a loop
  /// around it; else the loop's; empty: none.
  const std::string& op_name(size_t computation, size_t instruction) const;
  /// Of a value that devices pass on to each other: number and whole elements on one device of the
  /// argument of which it is a part.
  struct Passed {
    int64_t argument = 0, elements = 0;
  };
  std::optional<Passed> passed_on(size_t computation, size_t instruction) const;
  /// Elements that a device sets into zeros to make this result, maybe cast or scaled behind that;
  /// 0: it does no such thing.
  int64_t set_into_zeros(size_t computation, size_t instruction) const;
  /// Whether a result depends on which device computes it.
  bool depends_on_device(size_t computation, size_t instruction) const;
  /// Computation and position of the one instruction that calls a computation; none where there are
  /// several.
  std::optional<std::pair<size_t, size_t>> caller(size_t computation) const;
  /// Elements of one device's part of the argument that a result is a part of, where nothing was
  /// gathered on the way; none otherwise.
  std::optional<int64_t> argument_elements(size_t computation, size_t instruction) const;
  /// Elements of such a result that come from the argument: without the zeros that it was set into.
  int64_t part_elements(size_t computation, size_t instruction) const;
  /// Iterations of a while loop: as XLA notes them, or from a counter that starts, grows and ends
  /// with constants. None for other loops.
  std::optional<int64_t> trip_count(size_t computation, size_t instruction) const;

 private:
  // An instruction's result, or a tuple element of it: `elements`, innermost first.
  struct Value {
    size_t computation, instruction;
    std::vector<int64_t> elements = {};
    bool operator==(const Value&) const = default;
  };
  const HloInstruction& at(const Value& v) const;
  Value origin(Value v, bool through_unions = true) const;
  std::optional<Value> maker(const Value& v) const;
  const std::string* own_name(Value v, int& steps_left, const std::string*& of_passage) const;
  std::optional<Value> before_passing(const Value& v) const;
  bool is_zeros(const Value& v) const;
  std::optional<Value> step(const Value& v, bool through_unions) const;
  bool joins_parts_of_one(const Value& v) const;
  std::optional<Value> outside(const Value& parameter) const;
  bool unchanged_by_loop(const HloInstruction& loop, int64_t element) const;
  std::optional<int64_t> constant(const Value& v) const;
  bool is_loop_counter(const Value& v, size_t computation, int64_t element) const;

  const HloModule& module_;
  std::vector<std::optional<Value>> callers_;
};

/// Whether an instruction runs the computations that it names: the later halves of asynchronous
/// ones only name them again.
bool runs_called(const HloInstruction& instruction);

}  // namespace axle
